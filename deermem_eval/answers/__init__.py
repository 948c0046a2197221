"""From cases and decisions to requests, byte for byte, and from requests to the answers of a run."""

from deermem_eval.answers.messages import (
    AnswerTask,
    answer_tasks,
    qa_decisions,
    render_messages,
    request_bytes,
    request_fingerprint,
    request_payload,
    row_id,
)
from deermem_eval.answers.providers import (
    AttemptFailedError,
    ProviderContext,
    Request,
    load_provider,
    provider_names,
)
from deermem_eval.answers.reader import read_answer
from deermem_eval.answers.replies import (
    BUDGET_CLASSES,
    REPLY_CLASSES,
    Reply,
    answered_by,
    reply_class,
)
from deermem_eval.answers.run import RunRequest, answer_run, run_tasks
from deermem_eval.answers.run_directory import class_table
from deermem_eval.answers.runner import Prices, RunReport, RunSettings, run_answers

__all__ = [
    "BUDGET_CLASSES",
    "REPLY_CLASSES",
    "AnswerTask",
    "AttemptFailedError",
    "Prices",
    "ProviderContext",
    "Reply",
    "Request",
    "RunReport",
    "RunRequest",
    "RunSettings",
    "answer_run",
    "answer_tasks",
    "answered_by",
    "class_table",
    "load_provider",
    "provider_names",
    "qa_decisions",
    "read_answer",
    "render_messages",
    "reply_class",
    "request_bytes",
    "request_fingerprint",
    "request_payload",
    "row_id",
    "run_answers",
    "run_tasks",
]
