"""Records: what a protocol needs to know of a LongMemEval row, with its texts or without."""

from dataclasses import dataclass
from pathlib import Path

from deermem_eval.errors import DeermemEvalError
from deermem_eval.reading import parse_csv, read_bytes

RECORD_COLUMNS = ("question_id", "question_type", "evidence_sessions", "evidence_chars")


@dataclass(frozen=True)
class RecordTexts:
    """The texts of a row: rendered evidence, question, reference answer and question date."""

    evidence: str
    question: str
    answer: str
    question_date: str


@dataclass(frozen=True)
class Record:
    """One LongMemEval row as the protocol sees it.

    Attributes
    ----------
    question_id, question_type : str
        As in the data set.
    evidence_sessions : int
        Number of sessions that the rendered evidence holds.
    evidence_chars : int
        Length of the rendered evidence in Unicode code points, headers included.
    texts : RecordTexts or None
        None where only facts are at hand.
    """

    question_id: str
    question_type: str
    evidence_sessions: int
    evidence_chars: int
    texts: RecordTexts | None = None

    @property
    def evidence(self) -> str | None:
        """The rendered evidence, or None where only facts are at hand."""
        return self.texts.evidence if self.texts else None


def read_records(path: Path) -> tuple[Record, ...]:
    """Read records without texts from a CSV table with the columns `RECORD_COLUMNS`.

    Raises
    ------
    DeermemEvalError
        A column, count or id is wrong; the message names file and line.
    """
    what = "records"
    records: dict[str, Record] = {}
    for line, row in parse_csv(read_bytes(path, what), path, what, RECORD_COLUMNS):
        question_id = row["question_id"]
        if not question_id or question_id in records:
            problem = "is empty" if not question_id else f"{question_id!r} stands twice"
            raise DeermemEvalError(f"{what} {path}, line {line}: question_id {problem}; correct it")
        records[question_id] = Record(
            question_id=question_id,
            question_type=row["question_type"],
            evidence_sessions=_count(row, "evidence_sessions", path, line),
            evidence_chars=_count(row, "evidence_chars", path, line),
        )
    return tuple(records.values())


def _count(row: dict[str, str], column: str, path: Path, line: int) -> int:
    text = row[column]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise DeermemEvalError(
            f"records {path}, line {line}: {column} is {text!r}, not a whole number; correct it"
        )
    return int(text)
