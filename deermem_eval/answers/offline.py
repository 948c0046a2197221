"""Offline providers: the reader, and the replay of an earlier run's answers."""

import re
from collections.abc import Mapping
from pathlib import Path

from deermem_eval.answers.providers import (
    AttemptFailedError,
    Provider,
    ProviderContext,
    Request,
    refuse_argument,
)
from deermem_eval.answers.reader import read_answer
from deermem_eval.answers.replies import Reply
from deermem_eval.answers.run_directory import AnswerRow, read_rows
from deermem_eval.errors import DeermemEvalError
from deermem_eval.places import working_path

READER_MODEL = "reader, an extractive baseline and no model"
_DATE = re.compile(r"^CURRENT DATE: (.*)$", re.MULTILINE)
_MEMORY = re.compile(r"^\[[^\]\n]+\]$", re.MULTILINE)


def reader(context: ProviderContext) -> Provider:
    """Make the extractive baseline: no network, no weights, the same answer every time."""
    refuse_argument("reader", context)

    async def answer(request: Request) -> Reply:
        user = request.payload["messages"][-1]["content"]
        before, marker, question = user.rpartition("QUESTION:")
        if not marker:
            before, _, question = user.rpartition("\n")
        date, memory = _DATE.search(before), _MEMORY.search(before)
        text = before[memory.start() :] if memory else ""
        prediction = read_answer(text, question.strip(), date[1] if date else "")
        return Reply(prediction, response_model=READER_MODEL)

    return answer


def replay(context: ProviderContext) -> Provider:
    """Make a provider that answers as an earlier run did: a run directory, or published rows.

    A request is answered by the row of the same id and fingerprint, else by any of that
    fingerprint; where there is none, the attempt fails.
    """
    if not context.argument:
        raise DeermemEvalError("provider replay needs a run; write replay:FOLDER")
    rows = read_rows(working_path(context.argument))
    by_fingerprint: dict[str, dict[str, AnswerRow]] = {}
    for row in rows:
        by_fingerprint.setdefault(row.request_fingerprint, {})[row.row_id] = row

    async def answer(request: Request) -> Reply:
        found: Mapping[str, AnswerRow] = by_fingerprint.get(request.fingerprint, {})
        if not found:
            raise AttemptFailedError(
                f"{Path(context.argument).name} holds no answer to this request (fingerprint "
                f"{request.fingerprint[:12]})"
            )
        row = found.get(request.row_id) or found[min(found)]
        return Reply(
            row.prediction,
            response_model=row.response_model,
            usage={name: count for name, count in (row.usage or {}).items() if count is not None},
            attempts=row.attempts,
        )

    return answer
