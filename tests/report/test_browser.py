"""The page and the notebooks in a real browser."""

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest

from deermem_eval.protocol import load_protocol
from deermem_eval.report import (
    StudyFolders,
    plan_notebooks,
    run_notebooks,
    shipped_notebooks,
    write_report,
)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed on this machine"),
]
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture
def browser(tmp_path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path / "profile",
            executable_path=CHROMIUM,
            headless=True,
            viewport={"width": 1280, "height": 900},
            args=QUIET,
        )
        yield context
        context.close()


def watched(page):
    """Collect what a page asks for elsewhere and what goes wrong on it."""
    seen = {"outside": [], "errors": []}
    page.on("pageerror", lambda error: seen["errors"].append(str(error)))
    page.on("requestfailed", lambda request: seen["errors"].append(request.url))
    page.on(
        "console",
        lambda message: seen["errors"].append(message.text) if message.type == "error" else None,
    )
    page.on(
        "request",
        lambda request: (
            seen["outside"].append(request.url)
            if not request.url.startswith(("file:", "data:", "blob:"))
            else None
        ),
    )
    return seen


SHOWN = {"03_weights": 5, "05_grades": 2, "06_drift": 3, "07_memory": 2, "08_traces": 4}
"""Images on a notebook's page, where it is not one."""


def test_the_page_opens_from_disk_and_asks_for_nothing_else(browser, tmp_path):
    tasks = plan_notebooks([], {"protocol": "pr4789", "output_dir": str(tmp_path / "results")})
    assert [o.failure for o in run_notebooks(tasks, tmp_path / "executed")] == [""] * len(tasks)
    folders = StudyFolders(tmp_path / "results", tmp_path / "executed", tmp_path / "page")
    index, _ = write_report(load_protocol("pr4789"), folders)
    page = browser.new_page()
    seen = watched(page)
    page.goto(index.as_uri())
    assert "What should a bounded memory forget?" in page.inner_text("h1")
    heads = page.locator("table >> nth=0").locator("thead th").all()
    assert [head.inner_text() for head in heads] == [
        "group",
        "confidence @ 5 7 9",
        "hybrid-v1 @ 5 7 9",
    ]
    assert all(head.is_visible() for head in heads)
    assert "45/45" in page.inner_text("table >> nth=0")
    assert "0.00014495849609375" in page.inner_text("table >> nth=1")
    images = page.locator("img")
    assert images.count() == len(list((tmp_path / "results").glob("*.png"))) == 17
    for image in images.all():
        assert image.evaluate("image => image.naturalWidth") > 500
        assert re.search(r"\d", image.get_attribute("alt"))  # a sentence with its number
    names = [task.name for task in tasks]
    for name in names:
        page.goto(index.as_uri())
        page.click(f"a[href='{name}.html']")
        assert "All claims of this notebook hold." in page.inner_text("body")
        assert page.locator(".dataframe tbody th:visible").count() == 0  # no row numbers
        shown = page.locator("img").all()
        assert len(shown) == SHOWN.get(name, 1)
        for image in shown:
            assert image.evaluate("image => image.naturalWidth") > 500
            assert image.get_attribute("alt")
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"{name} scrolls sideways"
    assert seen == {"outside": [], "errors": []}


@pytest.fixture
def lab(tmp_path):
    """A JupyterLab of its own on a folder of notebooks: address, token and folder."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token, home = secrets.token_hex(16), tmp_path / "jupyter"
    (home / "config" / "labconfig").mkdir(parents=True)
    (home / "config" / "labconfig" / "default_setting_overrides.json").write_text(
        json.dumps(
            {
                "@jupyterlab/apputils-extension:notification": {
                    "fetchNews": "false",
                    "checkForUpdates": False,
                    "doNotDisturbMode": True,
                }
            }
        )
    )
    environment = {
        **os.environ,
        "JUPYTER_TOKEN": token,
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
    }
    with (tmp_path / "lab.log").open("w") as log:
        server = subprocess.Popen(
            [
                sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root",
                "--ip", "127.0.0.1", "--port", str(port), "--ServerApp.port_retries=0",
                f"--ServerApp.root_dir={folder}", "--LabApp.news_url=",
                "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            ],
            env=environment, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: answers(f"{address}/api/status?token={token}"), 90)
        yield address, token, folder
    finally:
        server.terminate()
        server.wait(30)


def answers(address):
    try:
        with urllib.request.urlopen(address, timeout=2) as response:
            return json.load(response)
    except OSError:
        return None


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.2)
    raise AssertionError("waited in vain")


def test_run_all_works_in_jupyterlab(browser, lab, tmp_path):
    address, token, folder = lab
    for name, path in shipped_notebooks().items():
        notebook = nbformat.read(path, as_version=4)
        parameters = next(cell for cell in notebook.cells if cell.cell_type == "code")
        parameters["source"] += f"\noutput_dir = {str(tmp_path / 'results')!r}"
        nbformat.write(notebook, folder / f"{name}.ipynb")
        run_all(browser, address, token, f"{name}.ipynb")
        saved = nbformat.read(folder / f"{name}.ipynb", as_version=4)
        outputs = [o for cell in saved.cells for o in cell.get("outputs", [])]
        assert not [o.ename for o in outputs if o.output_type == "error"]
        assert "All claims of this notebook hold." in str(outputs[-1])
    written = [path for path in (tmp_path / "results").iterdir() if path.is_file()]
    assert {path.suffix for path in written} == {".csv", ".svg", ".png"}


def run_all(browser, address, token, name):
    page = browser.new_page()
    page.goto(f"{address}/lab/tree/{name}?token={token}&reset", wait_until="domcontentloaded")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=60_000)

    def kernel_is_idle():
        # The page calls the kernel idle before there is one; the server knows.
        kernels = answers(f"{address}/api/kernels?token={token}") or []
        return bool(kernels) and all(
            kernel["execution_state"] == "idle" and kernel["connections"] for kernel in kernels
        )

    def all_cells_have_run():
        prompts = page.locator(".jp-NotebookPanel .jp-CodeCell .jp-InputPrompt").all_text_contents()
        return (
            all(prompt[1:2].isdigit() for prompt in prompts if prompt.strip())
            and any(prompts)
            and kernel_is_idle()
        )

    wait_for(kernel_is_idle, 60)
    page.click("text=Run >> nth=0")
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    wait_for(all_cells_have_run, 120)
    page.keyboard.press("Control+s")
    page.wait_for_function("() => !document.querySelector('.jp-mod-dirty')", timeout=30_000)
    with urllib.request.urlopen(f"{address}/api/sessions?token={token}") as response:
        sessions = json.load(response)
    page.close()
    for session in sessions:
        request = urllib.request.Request(
            f"{address}/api/sessions/{session['id']}?token={token}", method="DELETE"
        )
        urllib.request.urlopen(request).close()
