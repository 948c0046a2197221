import pytest

from deermem_eval.errors import DeermemEvalError
from deermem_eval.policies import OWN_SELECTOR, load_selector, require_policy_version

GOOD = """
from deermem_eval.policies import select_facts_for_capacity as select
EVICTION_POLICY_HYBRID_V1 = {version!r}
def first_wins(facts, *, max_facts, **_):
    return select(facts, max_facts=max_facts, policy="confidence", now=_["now"])
def keeps_all(facts, **_):
    return select(facts, max_facts=99, policy="confidence", now=_["now"])
def no_fields(facts, **_):
    return object()
def fails(facts):
    return None
number = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module of selectors and return its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, text=None, version="hybrid-v1"):
        (tmp_path / f"{name}.py").write_text(text or GOOD.format(version=version))
        return name

    return write


def test_a_users_selector_stands_in(module):
    selector = load_selector(f"{module('mine_a')}:first_wins")
    assert selector.name == "mine_a:first_wins"
    require_policy_version(selector, "hybrid-v1")


def test_our_own_can_be_named_too():
    assert load_selector(OWN_SELECTOR.name) == OWN_SELECTOR


def test_another_policy_version_is_refused(module):
    selector = load_selector(f"{module('mine_b', version='hybrid-v2')}:first_wins")
    with pytest.raises(DeermemEvalError, match="implements 'hybrid-v2', but the protocol requires"):
        require_policy_version(selector, "hybrid-v1")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("keeps_all", "keeps 2 of two facts at capacity 1"),
        ("no_fields", "returns a object without kept, evicted"),
        ("fails", "fails on two plain facts"),
        ("number", "has no such function"),
        ("absent", "has no such function"),
    ],
)
def test_a_function_that_is_no_selector_is_refused(module, function, said):
    with pytest.raises(DeermemEvalError, match=said):
        load_selector(f"{module('mine_c')}:{function}")


@pytest.mark.parametrize("name", ["module", "module:", ":function", ":"])
def test_a_name_of_another_form_is_refused(name):
    with pytest.raises(DeermemEvalError, match="not of the form module:function"):
        load_selector(name)


def test_a_module_that_does_not_import_is_refused(module):
    with pytest.raises(DeermemEvalError, match="cannot be imported: No module named 'nowhere'"):
        load_selector("nowhere:select")
    with pytest.raises(DeermemEvalError, match="cannot be imported: division by zero"):
        load_selector(f"{module('mine_d', '1 / 0')}:select")


def test_a_module_without_policy_version_is_refused(module):
    name = module("mine_e", "def select(facts, **_): return facts")
    with pytest.raises(DeermemEvalError, match="does not say which policy it implements"):
        load_selector(f"{name}:select")
