"""Messages: the request that asks a model about one case and what a policy kept of it.

Every byte of a request is fixed by the protocol. Its fingerprint names it: two runs asked the same
thing only where their fingerprints agree.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from deermem_eval.cases import Case
from deermem_eval.errors import DeermemEvalError
from deermem_eval.files import sha256_hex
from deermem_eval.protocol import AnswerPrompt, Protocol
from deermem_eval.protocol.config import Qa
from deermem_eval.protocol.details import HISTORICAL, Details
from deermem_eval.protocol.prompt import PLACEHOLDERS
from deermem_eval.protocol.protocol import FETCH_REMEDY
from deermem_eval.selection import CaseDecision, decide, policy_settings

_PLACEHOLDER = re.compile("|".join(map(re.escape, PLACEHOLDERS)))


@dataclass(frozen=True)
class AnswerTask:
    """One request: a case, what a policy kept of it, and the payload to send.

    Attributes
    ----------
    decision : CaseDecision
    payload : dict
        As it is sent: `model`, `temperature`, `max_tokens`, `stream`, `messages`.
    fingerprint : str
        SHA-256 of the payload; see `request_fingerprint`.
    """

    decision: CaseDecision
    payload: dict[str, Any]
    fingerprint: str

    @property
    def row_id(self) -> str:
        """Name of the row that the answer goes to."""
        return row_id(self.decision)


def row_id(decision: CaseDecision) -> str:
    """Return the published name of a decision's row: `{case_id}__{policy}`."""
    return f"{decision.case.case_id}__{decision.policy}"


def qa_decisions(protocol: Protocol, cases: Iterable[Case]) -> tuple[CaseDecision, ...]:
    """Return the decisions that are asked about: every case at the protocol's QA capacity.

    Raises
    ------
    DeermemEvalError
        The config names a policy that is none.
    """
    config = protocol.config
    settings = policy_settings(config, policies=config.qa.policies or ())
    return decide(
        cases,
        settings,
        [config.pool.qa_capacity],
        now=config.evaluation_time,
        tie_break=protocol.details.tie_break,
    )


def answer_tasks(protocol: Protocol, decisions: Iterable[CaseDecision]) -> tuple[AnswerTask, ...]:
    """Return the request of every decision, in the order given.

    Raises
    ------
    DeermemEvalError
        Protocol or cases carry no texts.
    """
    prompt = protocol.require_texts("a request")
    tasks = []
    for decision in decisions:
        kept, details = decision.kept_fact_ids, protocol.details
        messages = render_messages(prompt, decision.case, kept, details)
        payload = request_payload(protocol.config.qa, messages, details)
        fingerprint = request_fingerprint(payload, details)
        tasks.append(AnswerTask(decision, payload, fingerprint))
    return tuple(tasks)


def render_messages(
    prompt: AnswerPrompt,
    case: Case,
    kept_fact_ids: Sequence[str],
    details: Details = HISTORICAL,
) -> list[dict[str, str]]:
    """Render the system and the user message.

    The kept facts stand in the order of their ids, each as a line `[id]` and its content, with a
    blank line between two. The line `CURRENT DATE` is there only where the case has a date. The
    placeholders are filled in one pass: a memory or question that contains one stays as it is.

    Parameters
    ----------
    prompt : AnswerPrompt
    case : Case
        With texts.
    kept_fact_ids : sequence of str
        Ids of the case's facts; the order does not matter.
    details : Details
        Other ones list the facts by score, which is then the order given, or change separator,
        date, line ends or Unicode form.

    Raises
    ------
    DeermemEvalError
        The case carries no texts.
    """
    contents = {fact["id"]: fact.get("content") for fact in case.facts}
    if case.texts is None or None in contents.values():
        raise DeermemEvalError(
            f"case {case.case_id} carries no texts, and a request needs them; name the data set "
            f"with --dataset, or {FETCH_REMEDY}"
        )
    date = case.texts.question_date if details.has_current_date else None
    listed = kept_fact_ids if details.memory_order == "score" else sorted(kept_fact_ids)
    values = dict(
        zip(
            PLACEHOLDERS,
            (
                f"CURRENT DATE: {date}\n" if date else "",
                details.fact_separator.join(f"[{id_}]\n{contents[id_]}" for id_ in listed),
                case.texts.question,
            ),
            strict=True,
        )
    )
    user = _PLACEHOLDER.sub(lambda match: values[match[0]], prompt.user)
    user += "\n" * details.has_trailing_newline
    texts = {"system": prompt.system, "user": user}
    return [{"role": role, "content": _as_written(text, details)} for role, text in texts.items()]


def _as_written(text: str, details: Details) -> str:
    if details.unicode_form != "as it is":
        text = unicodedata.normalize(details.unicode_form, text)
    return text.replace("\n", details.line_ends)


def request_payload(
    qa: Qa, messages: list[dict[str, str]], details: Details = HISTORICAL
) -> dict[str, Any]:
    """Return what is sent to the model, with the temperature as a float (`0.0`)."""
    temperature = float(qa.temperature)
    is_integer = details.temperature_spelling == "integer" and temperature.is_integer()
    return {
        "model": qa.model,
        "temperature": int(temperature) if is_integer else temperature,
        "max_tokens": qa.max_tokens,
        "stream": qa.stream,
        "messages": messages,
    }


def request_bytes(payload: dict[str, Any], details: Details = HISTORICAL) -> bytes:
    """Return a payload's JSON: keys sorted, non-ASCII kept (PR #4810)."""
    return json.dumps(
        payload, ensure_ascii=details.escapes_non_ascii, sort_keys=details.sorts_keys
    ).encode()


def request_fingerprint(payload: dict[str, Any], details: Details = HISTORICAL) -> str:
    """Return the SHA-256 of a request's bytes; see `request_bytes`."""
    return sha256_hex(request_bytes(payload, details))
