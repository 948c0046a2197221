"""The page: executed notebooks, tables and figures as static HTML that a browser opens from disk.

Nothing on it is fetched: no script, font or style comes from elsewhere, and whatever comes from data
is escaped.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from deermem_eval import __version__
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import write_file
from deermem_eval.grades import rows_of_run
from deermem_eval.protocol import Protocol
from deermem_eval.reading import decode_text, read_bytes
from deermem_eval.report.folders import StudyFolders
from deermem_eval.report.notebooks import shipped_notebooks
from deermem_eval.report.overviews import p_overview, qa_overview, retention_overview
from deermem_eval.report.table_files import QA_TABLES, RETENTION_TABLES, has_table, read_table

GENERATOR = '<meta name="generator" content="deermem-eval">'
STYLE = """
:root { color-scheme: light; --line: #8884; --soft: #8881; --accent: #0072b2; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; }
a { color: var(--accent); }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
table, th, td { border: 0; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1.5rem 0; }
figcaption { font-size: .9rem; }
img { max-width: 100%; height: auto; background: white; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { overflow-x: auto; padding: .6rem .8rem; background: var(--soft); margin: .4rem 0; }
.scroll, .output { overflow-x: auto; }
.output table { font-size: .85rem; }
.dataframe:not(.overview) tbody th, .dataframe:not(.overview) thead th:first-child { display: none; }
th, td { white-space: nowrap; }
.jp-InputPrompt, .jp-OutputPrompt, .prompt, .anchor-link { display: none; }
"""


def write_report(
    protocol: Protocol, folders: StudyFolders, *, run: str = ""
) -> tuple[Path, dict[str, pd.DataFrame]]:
    """Write the page of a study from what its notebooks left.

    Parameters
    ----------
    protocol : Protocol
    folders : StudyFolders
    run : str
        The run whose answers the front page shows; empty: the last of the table.

    Returns
    -------
    Path, dict of str to DataFrame
        Of `index.html`; and the overviews that it shows, by caption: of retention and of answers,
        where the notebooks have written their tables.

    Raises
    ------
    DeermemEvalError
        No notebook has been executed, a table is malformed, or the page cannot be written.
    """
    executed = {
        name: path
        for name in shipped_notebooks()
        if (path := folders.executed / f"{name}.ipynb").is_file()
    }
    if not executed:
        raise DeermemEvalError(
            f"{folders.executed} holds no executed notebook; run `deermem-eval notebooks` first"
        )
    results = folders.results
    overviews = {}
    if has_table(results, RETENTION_TABLES[0]):
        overviews["Support facts retained, of all"] = retention_overview(
            *(read_table(results, name) for name in RETENTION_TABLES)
        )
    if has_table(results, QA_TABLES[0]):
        tables = [read_table(results, name) for name in QA_TABLES]
        run = run or str(tables[0]["run"].iloc[-1])
        of_run = [rows_of_run(table, run) for table in tables]
        overviews[f"Correct answers of all, {run}"] = qa_overview(*of_run)
        overviews["Exact McNemar p of every run"] = p_overview(tables[-1])
    elif run:
        raise DeermemEvalError(
            f"{results} holds no graded runs, so there is no run {run!r} to show; execute "
            "05_grades first"
        )
    return write_page(folders.page, protocol, results, executed, overviews), overviews


def write_page(
    page_dir: Path,
    protocol: Protocol,
    results_dir: Path,
    executed: Mapping[str, Path],
    overviews: Mapping[str, pd.DataFrame],
) -> Path:
    """Write `index.html`, the figures and one page a notebook.

    Parameters
    ----------
    page_dir : Path
        Files of an earlier page there are replaced; a page of somebody else's is refused.
    protocol : Protocol
    results_dir : Path
        Where the figures (`*.svg`, `*.png`) lie.
    executed : mapping of str to Path
        Executed notebooks by name.
    overviews : mapping of str to DataFrame
        Tables for the front page, by caption.

    Returns
    -------
    Path
        Of `index.html`.

    Raises
    ------
    DeermemEvalError
        The folder holds a foreign page, or cannot be written.
    """
    index = page_dir / "index.html"
    for target in (index, *(page_dir / f"{name}.html" for name in executed)):
        if target.exists() and GENERATOR.encode() not in read_bytes(target, "page"):
            raise DeermemEvalError(f"{target} was not written by deermem-eval; name another folder")
    pages = {name: _notebook_page(name, path) for name, path in executed.items()}
    pngs = _in_order_of_use(sorted(results_dir.glob("*.png")), [page for _, page in pages.values()])
    figures = {
        path.name: read_bytes(path, "figure")
        for png in pngs
        for path in (png, png.with_suffix(".svg"))
    }
    front = _index(protocol, {name: title for name, (title, _) in pages.items()}, pngs, overviews)
    for name, content in figures.items():
        write_file(page_dir / "figures" / name, content)
    for name, (_, page) in pages.items():
        write_file(page_dir / f"{name}.html", page.encode())
    write_file(index, front.encode())
    return index


def _in_order_of_use(figures: Iterable[Path], pages: Iterable[str]) -> list[Path]:
    """Sort figures by the place where the notebooks' pages first name them."""
    text = "".join(pages)
    places = {figure: text.find(figure.stem) for figure in figures}
    return sorted(figures, key=lambda figure: (places[figure] < 0, places[figure]))


def _index(
    protocol: Protocol,
    titles: Mapping[str, str],
    figures: Sequence[Path],
    overviews: Mapping[str, pd.DataFrame],
) -> str:
    config = protocol.config
    identity = pd.DataFrame(
        [
            {"artifact": name.removesuffix("_sha256").replace("_", " "), "SHA-256": value}
            for name, value in protocol.identity.as_dict().items()
        ]
    )
    parts = [
        f"<h1>What should a bounded memory forget? Protocol {html.escape(protocol.name)}</h1>",
        (
            f"<p>Made by deermem-eval {__version__} from protocol "
            f"<code>{html.escape(config.protocol_id)}</code>, evaluation clock "
            f"<code>{config.evaluation_time.isoformat()}</code>.</p>"
        ),
        "<h2>Notebooks</h2><ul>",
        *(
            f'<li><a href="{html.escape(name)}.html">{html.escape(name)}</a>: '
            f"{html.escape(title)}</li>"
            for name, title in titles.items()
        ),
        "</ul>",
    ]
    for caption, table in overviews.items():
        parts += [f"<h2>{html.escape(caption)}</h2>", _table(table)]
    parts.append("<h2>Figures</h2>")
    parts += [_figure(path) for path in figures]
    parts += ["<h2>Protocol identity</h2>", _table(identity)]
    if protocol.missing_texts:
        parts.append(
            "<p>The protocol carries facts only: config and manifests are our own files, so their "
            f"hashes are not the published ones. Missing: {' and '.join(protocol.missing_texts)}.</p>"
        )
    return _document(f"deermem-eval: {protocol.name}", "\n".join(parts))


def _figure(png: Path) -> str:
    title = html.escape(_svg_title(png.with_suffix(".svg")) or png.stem)
    name = html.escape(png.stem)
    return (
        f'<figure><img src="figures/{name}.png" width="536" alt="{title}">'
        f'<figcaption>{title} (<a href="figures/{name}.svg">SVG</a>)</figcaption></figure>'
    )


def _svg_title(path: Path) -> str:
    text = read_bytes(path, "figure").decode(errors="replace")
    found = re.search(r"<dc:title>(.*?)</dc:title>|<title>(.*?)</title>", text, re.DOTALL)
    return html.unescape(found[1] or found[2]) if found else ""


def _table(table: pd.DataFrame) -> str:
    return f'<div class="scroll">{table.to_html(index=False, border=0, classes="overview")}</div>'


def _notebook_page(name: str, path: Path) -> tuple[str, str]:
    """Return a notebook's title (its first heading) and its page."""
    import nbformat
    from nbconvert import HTMLExporter
    from pygments.formatters import HtmlFormatter

    content = decode_text(read_bytes(path, "executed notebook"), path, "executed notebook")
    try:
        notebook: Any = nbformat.reads(content, as_version=4)
    except Exception as error:
        raise DeermemEvalError(
            f"executed notebook {path} is none ({error}); run `deermem-eval notebooks` again"
        ) from error
    body, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    heading = re.search(r"^#\s+(.+)$", "\n".join(c.source for c in notebook.cells), re.MULTILINE)
    title = heading[1].strip() if heading else name
    back = '<p><a href="index.html">← all results</a></p>'
    colours = HtmlFormatter().get_style_defs(".highlight")
    return title, _document(f"{name}: {title}", f"{back}\n{body}\n{back}", colours)


def _document(title: str, body: str, style: str = "") -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{GENERATOR}\n<title>{html.escape(title)}</title>\n<style>{style}{STYLE}</style>\n"
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
