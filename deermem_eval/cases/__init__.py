"""From a protocol and a data set to cases: records, selection rule, distractor bank, pools."""

from deermem_eval.cases.bank import bank_offset, build_bank, draw_distractors
from deermem_eval.cases.longmemeval import read_longmemeval
from deermem_eval.cases.pools import (
    SUITE_OF_SOURCE,
    Case,
    CaseTexts,
    build_cases,
    case_of,
    load_cases,
)
from deermem_eval.cases.record_files import (
    dataset_file,
    load_records,
    record_source,
    records_file,
)
from deermem_eval.cases.records import Record, RecordTexts, read_records
from deermem_eval.cases.scenarios import SUPPORT_SIGNALS, Signals, distractor_signals
from deermem_eval.cases.selection_rule import refuse_other_selection, select_official_cases

__all__ = [
    "SUITE_OF_SOURCE",
    "SUPPORT_SIGNALS",
    "Case",
    "CaseTexts",
    "Record",
    "RecordTexts",
    "Signals",
    "bank_offset",
    "build_bank",
    "build_cases",
    "case_of",
    "dataset_file",
    "distractor_signals",
    "draw_distractors",
    "load_cases",
    "load_records",
    "read_longmemeval",
    "read_records",
    "record_source",
    "records_file",
    "refuse_other_selection",
    "select_official_cases",
]
