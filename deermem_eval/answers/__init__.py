"""From cases and decisions to requests, byte for byte."""

from deermem_eval.answers.messages import (
    AnswerTask,
    answer_tasks,
    render_messages,
    request_fingerprint,
    request_payload,
    row_id,
)

__all__ = [
    "AnswerTask",
    "answer_tasks",
    "render_messages",
    "request_fingerprint",
    "request_payload",
    "row_id",
]
