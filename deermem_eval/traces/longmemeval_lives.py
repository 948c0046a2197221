"""LongMemEval rows as lives: sessions in time order, the user's turns as facts, the question at its date.

A row has one question, so that a file of 500 rows is 500 lives. Files of any size are read row by row.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deermem_eval.cases.longmemeval import LongMemEvalRow, parse_row
from deermem_eval.errors import DeermemEvalError
from deermem_eval.reading import stream_json_list
from deermem_eval.traces.lives import Life, Noted, Question, Turn
from deermem_eval.traces.locomo import CATEGORY, MINUTES_A_TURN

DATE_FORM = "%Y/%m/%d (%a) %H:%M"


def read_longmemeval_lives(path: Path) -> Iterator[Life]:
    """Yield the lives of a LongMemEval file, one at a time.

    Raises
    ------
    DeermemEvalError
        The file cannot be read, or a row is malformed (named by its index).
    """
    for index, value in enumerate(stream_json_list(path, "data set")):
        where = f"data set {path}, row {index}"
        try:
            yield life_of_row(parse_row(value, where))
        except ValueError as error:
            raise DeermemEvalError(f"{where}: {error}; correct the date") from error


def life_of_row(row: LongMemEvalRow) -> Life:
    """Return the life that a row tells; its facts are the user's turns that stand before the question.

    A question whose evidence an assistant gave has no fact to rest on, and counts as unanswerable.

    Raises
    ------
    ValueError
        A date is none.
    """
    asked = _date(row.question_date)
    sessions = zip(row.haystack_dates, row.haystack_sessions, strict=True)
    in_order = sorted(((_date(date), turns) for date, turns in sessions), key=lambda s: s[0])
    turns: list[Turn] = []
    facts: list[Noted] = []
    evidence: list[int] = []
    is_complete = True
    for began, said in in_order:
        for i, turn in enumerate(said):
            seconds = (began + timedelta(minutes=MINUTES_A_TURN * i)).timestamp()
            if seconds > asked.timestamp():
                is_complete = is_complete and not turn.has_answer
                continue
            seconds = max(seconds, turns[-1].seconds if turns else seconds)
            role = "human" if turn.role == "user" else "ai"
            if role == "human":
                if turn.has_answer:
                    evidence.append(len(facts))
                facts.append(Noted(f"turn_{len(turns):04d}", turn.content, CATEGORY, len(turns)))
            elif turn.has_answer:
                is_complete = False
            turns.append(Turn(seconds, turn.content, role))
    turns.append(Turn(max(asked.timestamp(), turns[-1].seconds if turns else 0.0), "", "ai"))
    is_answerable = is_complete and bool(evidence)
    return Life(
        name=row.question_id,
        turns=tuple(turns),
        facts=tuple(facts),
        questions=(Question(row.question_type, tuple(evidence)),) if is_answerable else (),
        unanswerable=0 if is_answerable else 1,
    )


def _date(text: str) -> datetime:
    return datetime.strptime(text, DATE_FORM).replace(tzinfo=UTC)
