import re

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from deermem_eval.errors import DeermemEvalError
from deermem_eval.grades import (
    accuracy_by_scenario,
    accuracy_by_suite,
    read_outcomes,
    rows_of_run,
    stages_by_scenario,
    stages_by_suite,
)
from deermem_eval.report import (
    answer_stages,
    figure_title,
    pool_anatomy,
    pool_table,
    qa_accuracy,
    retention_by_capacity,
    save_figure,
)
from deermem_eval.selection import (
    decide,
    decision_table,
    policy_settings,
    retention_by_scenario,
    retention_by_suite,
)


@pytest.fixture(scope="module")
def decisions(historical, historical_cases):
    settings = policy_settings(historical.config)
    now = historical.config.evaluation_time
    return decide(historical_cases, settings, range(1, 11), now=now)


def pool_of(historical, decisions, case_id, capacity=7):
    chosen = [d for d in decisions if (d.case.case_id, d.capacity) == (case_id, capacity)]
    return pool_table(chosen, policy_settings(historical.config))


@pytest.fixture(scope="module")
def figures(historical, historical_cases, decisions):
    table = decision_table(decisions)
    graded = read_outcomes(historical.folder / "outcomes.csv", historical_cases)
    final, suites = (
        rows_of_run(table(graded), "run3") for table in (accuracy_by_scenario, accuracy_by_suite)
    )
    return {
        "pool": lambda: pool_anatomy(pool_of(historical, decisions, "2a1811e2")),
        "retention": lambda: retention_by_capacity(
            retention_by_scenario(table), retention_by_suite(table), capacity=7
        ),
        "accuracy": lambda: qa_accuracy(final, suites, alpha=0.05, answered_by="a model"),
    }


@pytest.mark.parametrize(
    ("name", "title"),
    [
        (
            "pool",
            "Case 2a1811e2, the support fact at capacity 7: confidence evicts it, hybrid-v1 keeps",
        ),
        (
            "retention",
            "Overall at capacity 7, confidence retains 27 and hybrid-v1 retains 45 of 45",
        ),
        (
            "accuracy",
            "run3, answered by a model: overall, confidence gives 24 and hybrid-v1 gives 40 correct answers of 45",
        ),
    ],
)
def test_a_title_is_a_sentence_with_the_number(figures, name, title):
    assert figure_title(figures[name]()).startswith(title)


@pytest.mark.parametrize("name", ["pool", "retention", "accuracy"])
def test_the_same_table_gives_the_same_bytes(figures, tmp_path, name):
    for folder in ("a", "b"):
        save_figure(figures[name](), tmp_path / folder, name, "what it shows")
    for suffix in ("svg", "png"):
        a, b = (tmp_path / folder / f"{name}.{suffix}" for folder in "ab")
        assert a.read_bytes() == b.read_bytes()
    svg = (tmp_path / "a" / f"{name}.svg").read_text("utf-8")
    assert "what it shows" in svg
    assert re.search(r"<text [^>]*>[^<]*(confidence|overall)", svg)  # text as text
    assert not re.search(r"\d{4}-\d\d-\d\dT", svg)  # no time


def test_the_users_own_settings_do_not_enter(figures, tmp_path):
    import matplotlib as mpl

    save_figure(figures["pool"](), tmp_path / "a", "pool", "x")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        save_figure(figures["pool"](), tmp_path / "b", "pool", "x")
    assert (tmp_path / "a/pool.svg").read_bytes() == (tmp_path / "b/pool.svg").read_bytes()


def ticks_out_of_view(figure):
    """Tick labels that exist but are not drawn."""
    return {
        tick.label1
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }


def test_text_stays_inside_the_figure_and_apart(figures):
    for name, draw in figures.items():
        refuse_overlaps(draw(), name)


def refuse_overlaps(figure, name):
    """No title or label is cut off, and no two labels lie on each other."""
    FigureCanvasAgg(figure).draw()
    renderer = figure.canvas.get_renderer()
    frame = figure.bbox
    boxes = []
    for text in set(figure.findobj(Text)) - ticks_out_of_view(figure):
        if text.get_text().strip() and text.get_visible():
            box = text.get_window_extent(renderer)
            assert frame.x0 - 1 <= box.x0, (name, text)
            assert box.x1 <= frame.x1 + 1, (name, text)
            assert frame.y0 - 1 <= box.y0, (name, text)
            assert box.y1 <= frame.y1 + 1, (name, text)
            boxes.append((text.get_text(), box))
    for i, (first, a) in enumerate(boxes):
        for second, b in boxes[i + 1 :]:
            overlap = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
            assert min(overlap) <= 1, (name, first, second)


def test_a_saved_figure_shows_itself_with_alternative_text(figures, tmp_path):
    saved = save_figure(figures["pool"](), tmp_path, "pool", "what it shows")
    data, metadata = saved._repr_mimebundle_()
    assert data["image/png"] == (tmp_path / "pool.png").read_bytes()
    assert metadata["image/png"]["alt"] == "what it shows"


def test_components_sum_to_the_score_and_ranks_are_complete(historical, decisions):
    pool = pool_of(historical, decisions, "correction_language")
    parts = pool[["confidence", "confirmationFreshness", "accessHeat"]].sum(axis=1)
    assert parts.to_list() == pytest.approx(pool["score"].to_list())
    for _, of_policy in pool.groupby("policy"):
        assert of_policy["rank"].to_list() == list(range(1, 11))
        assert of_policy["kept"].sum() == 7
    support = pool[pool["is_support"]].set_index("policy")
    assert support["kept"].to_dict() == {"confidence": False, "hybrid-v1": True}
    assert support["by_reserve"].to_dict() == {"confidence": False, "hybrid-v1": True}


def test_a_capacity_that_keeps_all_has_no_cut(historical, decisions):
    def labels(capacity):
        figure = pool_anatomy(pool_of(historical, decisions, "2a1811e2", capacity=capacity))
        texts = [text.get_text() for axis in figure.axes for text in axis.texts]
        return figure_title(figure), [text for text in texts if text.startswith("capacity")]

    assert labels(9)[1] == ["capacity 9"] * 2
    title, cuts = labels(10)
    assert "confidence keeps it, hybrid-v1 keeps it" in title
    assert cuts == []


def test_the_accuracy_figure_draws_its_table(historical, historical_cases):
    graded = read_outcomes(historical.folder / "outcomes.csv", historical_cases)
    table = rows_of_run(accuracy_by_scenario(graded), "run2")
    suites = rows_of_run(accuracy_by_suite(graded), "run2")
    (axis,) = qa_accuracy(table, suites, alpha=0.05, answered_by="a model").axes
    lines = {marker: [] for marker in ("None", "o", "s", "|")}
    for line in axis.lines:
        lines[line.get_marker()].append(list(line.get_xdata()))
    intervals = map(list, zip(table["lower"], table["upper"], strict=True))
    assert sorted(lines["None"]) == sorted(intervals)
    assert sorted(x for marker in "os" for (x,) in lines[marker]) == sorted(table["accuracy"])
    assert sorted(x for (x,) in lines["|"]) == sorted(table["retained"] / table["cases"])
    texts = [text.get_text() for text in axis.texts]
    for _, row in table.iterrows():
        assert f"{row['correct']}/{row['cases']}" in texts
        assert f"{row['retained']}/{row['cases']}" in texts


@pytest.mark.parametrize("interval", [(0, 0.65), (0.1, 0.8), (0, 1), (0.35, 1), (0.69, 0.72)])
def test_the_names_of_the_policies_stand_inside_the_accuracy_figure(
    historical, historical_cases, interval
):
    graded = read_outcomes(historical.folder / "outcomes.csv", historical_cases)
    table = rows_of_run(accuracy_by_scenario(graded), "run3")
    table["lower"], table["upper"] = interval
    suites = rows_of_run(accuracy_by_suite(graded), "run3")
    figure = qa_accuracy(table, suites, alpha=0.05, answered_by="a model")
    figure.draw_without_rendering()
    (axis,) = figure.axes
    names = [
        text.get_window_extent() for text in axis.texts if text.get_text() in set(table["policy"])
    ]
    assert len(names) == 2
    for name in names:
        assert axis.bbox.x0 <= name.x0
        assert name.x1 <= axis.bbox.x1
        assert axis.bbox.y0 <= name.y0
        assert name.y1 <= axis.bbox.y1


def test_any_number_of_policies_stands_apart_in_the_figures_of_answers(
    historical, historical_cases
):
    graded = read_outcomes(historical.folder / "outcomes.csv", historical_cases)
    graded = rows_of_run(graded, "run3")
    others = ["recency", "mine:last"]
    copies = [graded[graded["policy"] == "confidence"].assign(policy=name) for name in others]
    for count in (1, 3, 4):
        table = pd.concat([graded, *copies])
        table = table[table["policy"].isin(["hybrid-v1", "confidence", *others][:count])]
        scenarios, suites = accuracy_by_scenario(table), accuracy_by_suite(table)
        figure = qa_accuracy(scenarios, suites, alpha=0.05, answered_by="a model")
        refuse_overlaps(figure, count)
        markers = [line.get_marker() for line in figure.axes[0].lines]
        assert markers.count("|") == 5 * count
        stages, by_suite = stages_by_scenario(table), stages_by_suite(table)
        figure = answer_stages(stages, by_suite, answered_by="a model")
        refuse_overlaps(figure, count)
        (axis,) = figure.axes
        assert sum(bar.get_width() for bar in axis.patches) == 45 * count


def test_the_retention_figure_draws_its_table(figures, decisions):
    table = decision_table(decisions)
    by_scenario, by_suite = retention_by_scenario(table), retention_by_suite(table)
    overall = by_suite[by_suite["suite"] == "overall"].assign(scenario="overall")
    for axis in figures["retention"]().axes:
        name = axis.get_title(loc="left").split(" ")[0]
        rows = by_scenario if name != "overall" else overall
        rows = rows[rows["scenario"] == name]
        drawn = [list(line.get_ydata()) for line in axis.lines if line.get_marker() in "os"]
        assert drawn == [list(of["retained"]) for _, of in rows.groupby("policy", sort=False)]


def test_the_anatomy_draws_its_table(historical, decisions):
    pool = pool_of(historical, decisions, "0977f2af")
    parts = pool.groupby("policy", sort=False)
    for axis, (_, rows) in zip(pool_anatomy(pool).axes, parts, strict=True):
        components = ("confidence", "confirmationFreshness", "accessHeat")
        for bars, component in zip(axis.containers, components, strict=True):
            assert [bar.get_width() for bar in bars] == pytest.approx(list(rows[component]))
            assert [bar.get_alpha() == 1 for bar in bars] == list(rows["kept"])
    assert pool["accessHeat"].max() == pytest.approx(0.1)


def test_the_anatomy_of_a_policy_without_scores_shows_its_cut_alone(historical, historical_cases):
    settings = policy_settings(historical.config, policies=["recency", "hybrid-v1"])
    now = historical.config.evaluation_time
    pool = pool_table(decide(historical_cases[:1], settings, [7], now=now), settings)
    without = pool["policy"] == "recency"
    assert pool.loc[without, ["score", "confidence", "accessHeat"]].isna().all(axis=None)
    assert pool.loc[~without, "score"].notna().all()
    assert pool.loc[without, "kept"].sum() == 7
    figure = pool_anatomy(pool)
    refuse_overlaps(figure, "recency")
    drawn = {axis.get_title(loc="left"): axis for axis in figure.axes}
    assert not any(bar.get_visible() for bar in drawn["recency (without scores)"].patches)
    assert "capacity 7" in [text.get_text() for text in drawn["recency (without scores)"].texts]


@pytest.mark.parametrize(("weights", "capacity"), [([1, 0, 0], 1), ([0, 0, 1], 10), ([0, 1, 0], 5)])
def test_labels_stay_apart_with_other_weights(historical, historical_cases, weights, capacity):
    settings = policy_settings(historical.config, weights=weights)
    now = historical.config.evaluation_time
    table = decision_table(decide(historical_cases, settings, range(1, 11), now=now))
    figure = retention_by_capacity(
        retention_by_scenario(table), retention_by_suite(table), capacity=capacity
    )
    refuse_overlaps(figure, weights)


def test_a_figure_in_an_unwritable_place_is_refused(figures, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(DeermemEvalError, match="cannot be written"):
        save_figure(figures["pool"](), tmp_path / "file", "pool", "x")
