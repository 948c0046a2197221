import ast
import re
import tomllib

import pandas as pd
import pytest
import yaml

from deermem_eval.report import (
    markdown_table,
    qa_overview,
    retention_overview,
    shipped_notebooks,
)
from deermem_eval.report.table_files import read_table
from deermem_eval.traces import findings
from deermem_eval.verbs import VERBS

GROUND = {"chunks", "errors", "files", "reading", "places", "weights"}
STREET = [
    "protocol",
    "cases",
    "policies",
    "selection",
    "answers",
    "grades",
    "drift",
    "memory",
    "traces",
    "report",
]
LABELS = {
    "kept_fact_ids",
    "distractors",
    "answered_by",
    "layer",
    "says",
    "unseen",
    "between",
    "step",
}
CONDA_NAMES = {"huggingface-hub": "huggingface_hub", "matplotlib": "matplotlib-base"}


@pytest.fixture(scope="module")
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]


def imported(path):
    """Parts of deermem_eval that a module imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.startswith("deermem_eval."):
                yield name.split(".")[1]
            elif name == "deermem_eval":
                yield from (alias.name for alias in node.names if alias.name != "__version__")


def test_the_package_is_one_straight_street(root):
    """Each folder imports only from those above it; policies need the ground floor only."""
    assert {p.name for p in (root / "deermem_eval").iterdir() if p.is_dir()} - {"__pycache__"} == {
        *STREET,
        "verbs",
    }
    for path in (root / "deermem_eval").rglob("*.py"):
        place = path.relative_to(root / "deermem_eval").parts[0].removesuffix(".py")
        parts = set(imported(path)) - GROUND
        if place == "verbs":
            assert "cli" not in parts, path
            continue
        if place in ("cli", "__main__", "explore"):
            continue
        if place in ("policies", "protocol"):
            allowed = {place}
        elif place == "memory":
            allowed = {"memory", "policies"}
        elif place in STREET:
            allowed = set(STREET[: STREET.index(place) + 1])
        else:
            allowed = set()
        assert parts <= allowed, f"{path} imports {parts - allowed}"


def test_statistics_never_draw_and_figures_never_compute(root):
    for path in (root / "deermem_eval" / "grades").glob("*.py"):
        assert "matplotlib" not in path.read_text("utf-8"), path
    for path in (root / "deermem_eval" / "report").glob("*figures.py"):
        figures = path.read_text("utf-8")
        assert "import numpy" not in figures
        assert "statsmodels" not in figures
        assert "deermem_eval.grades" not in figures


def test_nothing_below_the_command_reads_clock_environment_or_global_chance(root):
    forbidden = re.compile(
        r"datetime\.now|time\.time\(|os\.environ\b(?!\[\"PYDEVD|\.pop\(\"PYTHONOPT)|os\.getenv|np\.random\.seed"
        r"|random\.seed\(|np\.random\.default_rng\(\)"
    )
    for path in (root / "deermem_eval").rglob("*.py"):
        if path.parent.name != "verbs":
            assert not forbidden.search(path.read_text("utf-8")), path


def test_modules_stay_on_two_or_three_screens(root):
    for path in (root / "deermem_eval").rglob("*.py"):
        assert path.read_text("utf-8").count("\n") <= 320, path


def bounds(requirement):
    name, *rest = re.split(r"(?=[<>=!~])", requirement, maxsplit=1)
    return name.strip(), "".join(rest)


def test_conda_and_pip_name_the_same_packages_with_the_same_bounds(root, project):
    environment = yaml.safe_load((root / "environment.yml").read_text("utf-8"))
    plain = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert pip.pop() == "--editable ."
    found = dict(map(bounds, plain + pip))
    assert found.pop("python") == project["requires-python"]
    assert found.pop("pip") == ""
    expected = dict(map(bounds, project["dependencies"]))
    assert found == {CONDA_NAMES.get(name, name): value for name, value in expected.items()}


def test_the_lock_pins_everything_with_hashes_and_no_address(root, project):
    text = (root / "requirements.lock").read_text("utf-8")
    assert "://" not in text
    pinned = dict(re.findall(r"^([a-z0-9._-]+)==([^ \\]+)", text, re.MULTILINE))
    for block in re.split(r"\n(?=[a-z0-9])", text):
        assert "==" in block.split("\n")[0]
        assert "--hash=sha256:" in block
    extras = [r for group in project["optional-dependencies"].values() for r in group]
    for requirement in project["dependencies"] + extras:
        name = bounds(requirement.partition("[")[0])[0].lower().replace("_", "-")
        assert name in pinned, name
    assert tuple(map(int, pinned["jsonschema"].split(".")[:2])) < (4, 25)


def test_the_package_and_the_command_are_declared(project):
    assert project["scripts"] == {"deermem-eval": "deermem_eval.cli:main"}
    assert set(project["optional-dependencies"]) == {"dev", "distributed", "local", "parquet"}


def test_the_readme_shows_the_committed_results(root):
    results = root / "results" / "pr4789"
    readme = (root / "README.md").read_text("utf-8")
    retention = retention_overview(
        read_table(results, "retention_by_scenario"), read_table(results, "retention_by_suite")
    )
    assert markdown_table(retention) in readme
    tables = [
        read_table(results, name)
        for name in ("qa_accuracy_by_scenario", "qa_accuracy_by_suite", "qa_paired_by_suite")
    ]
    assert markdown_table(qa_overview(*(t[t["run"] == "run3"] for t in tables))) in readme
    paired = tables[2]
    official = paired[paired["suite"] == "official"]
    said = ", ".join(f"{p:.4f}" for p in official["p_value"])
    assert f"official p of the three runs: {said}" in readme


def test_the_readme_says_what_the_lives_of_locomo_show(root):
    results = root / "results" / "locomo"
    shares, cells, ages, tuning = (
        pd.read_csv(results / f"trace_{name}.csv", keep_default_na=name != "shares")
        for name in ("shares", "decision_map", "ages", "tuning")
    )
    said = findings(
        shares.astype({"share": float}), cells, ages, tuning, capacity=100, confidence="rho=0.3"
    )
    readme = " ".join((root / "README.md").read_text("utf-8").split())
    for sentence in said:
        assert sentence in readme


def test_every_verb_and_notebook_is_in_the_readme(root):
    readme = (root / "README.md").read_text("utf-8")
    for verb in VERBS:
        assert f"`{verb.NAME}`" in readme
    for name in shipped_notebooks():
        assert f"`{name}`" in readme


def test_results_hold_no_text(root):
    """Tables carry ids, names, numbers: the only blanks part the ids of a list, or a label's words."""
    for path in (root / "results").glob("*/*.csv"):
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        for column in set(table.columns) - LABELS:
            assert not table[column].str.contains(" ").any(), (path, column)
