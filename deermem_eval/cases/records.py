"""Records: what a protocol needs to know of a LongMemEval row, with its texts or without."""

from dataclasses import dataclass, replace
from pathlib import Path

from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol.details import HISTORICAL, Details
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


def with_details(record: Record, details: Details) -> Record:
    """Return a record of facts as other details would render it: only its length changes.

    Raises
    ------
    DeermemEvalError
        The length cannot be told without the texts.
    """
    for name in ("evidence_fallback", "bank_order"):  # the table ends where the bank does
        if getattr(details, name) != getattr(HISTORICAL, name):
            raise DeermemEvalError(f"another {name} needs the data set; name it with --dataset")
    of_header = _header_chars(details) - _header_chars(HISTORICAL)
    of_separator = len(details.session_separator) - len(HISTORICAL.session_separator)
    sessions = record.evidence_sessions
    grown = of_header * sessions + of_separator * max(0, sessions - 1)
    return replace(record, evidence_chars=record.evidence_chars + grown)


def _header_chars(details: Details) -> int:
    return len(details.session_header.format(session_id="", date=""))


def _count(row: dict[str, str], column: str, path: Path, line: int) -> int:
    text = row[column]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise DeermemEvalError(
            f"records {path}, line {line}: {column} is {text!r}, not a whole number; correct it"
        )
    return int(text)
