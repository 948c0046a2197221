"""The extractive baseline: what it takes from a memory, and when it abstains."""

import asyncio

import pytest

from deermem_eval.answers import ProviderContext, Request, load_provider, read_answer
from deermem_eval.protocol import load_protocol

MEMORY = """[a]
SESSION s_1 AT 2026/01/05 (Mon) 09:00
USER: There are 4 lamps in my studio. Which bulbs are warm?

SESSION s_2 AT 2026/03/09 (Mon) 09:00
USER: By now there are 9 lamps in my studio, says the electrician.

[b]
SESSION s_3 AT 2026/02/02 (Mon) 18:00
USER: The sculpture arrived on 31 January, in a crate. Petra carried it up.

SESSION s_4 AT 2026/02/21 (Sat) 18:00
USER: The sculpture was sold on 20 February. It stands in the town hall of Ypres now.

[c]
USER: The shed has not been painted, I fear.

[d]
We had it wrong: the user plays the oboe, not the flute."""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many lamps are in my studio now?", "9"),
        ("On which date did the sculpture arrive?", "31 January"),
        ("How many days after the sculpture arrived was it sold?", "20 days"),
        ("Has the shed been painted? Answer YES or NO.", "NO"),
        ("Who carried it up?", "Petra"),
        ("How many boats are in my harbour?", "INSUFFICIENT"),
        ("", "INSUFFICIENT"),
        ("?", "INSUFFICIENT"),
    ],
)
def test_it_takes_the_span_that_is_asked_for(question, answer):
    assert read_answer(MEMORY, question) == answer


@pytest.mark.parametrize(
    "memory", ["", "\n\n", "[a]", "[a]\nSESSION x AT nowhere\nUSER:", "\ud800"]
)
def test_it_abstains_where_there_is_nothing_to_read(memory):
    assert read_answer(memory, "How many lamps are in my studio?") == "INSUFFICIENT"


def test_as_a_provider_it_sees_the_messages_only():
    qa = load_protocol("sample").config.qa
    provider = load_provider("reader", ProviderContext(qa, "", {}))
    user = f"CURRENT DATE: 2026/03/23 (Mon) 10:00\nNOTES:\n{MEMORY}\n\nQUESTION: How many lamps are in my studio?"
    payload = {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": user}]}
    reply = asyncio.run(provider(Request("r", "f", payload)))
    assert reply.prediction == "9"
    assert reply.response_model == "reader, an extractive baseline and no model"
    bare = {"messages": [{"role": "user", "content": "How many lamps?"}]}
    assert asyncio.run(provider(Request("r", "f", bare))).prediction == "INSUFFICIENT"
