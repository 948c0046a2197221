"""A graded run as it is published, of any protocol with texts, answered by a rule instead of a model."""

import json
from pathlib import Path

from deermem_eval.answers import answer_tasks
from deermem_eval.cases import load_cases
from deermem_eval.files import json_document, json_lines
from deermem_eval.grades import (
    grade_answer,
    read_published_rows,
    statistics_document,
    summary_document,
)
from deermem_eval.selection import decide, policy_settings


def answer_of(task):
    """The reference where the support fact was kept (but for every seventh case), else none."""
    case = task.decision.case
    if not task.decision.support_retained:
        return "INSUFFICIENT"
    return "something else" if int(task.fingerprint, 16) % 7 == 0 else case.texts.answer


def write_graded_run(protocol, folder: Path, answer=answer_of, *, answers_too=False) -> Path:
    config = protocol.config
    decisions = decide(
        load_cases(protocol),
        policy_settings(config),
        [config.pool.qa_capacity],
        now=config.evaluation_time,
    )
    tasks = sorted(answer_tasks(protocol, decisions), key=lambda task: task.row_id)
    folder.mkdir(parents=True)
    (folder / "qa_run.json").write_bytes(json_document(marker(protocol)))
    rows = [row_of(task, answer(task), config.qa.model) for task in tasks]
    (folder / "qa.rows.jsonl").write_bytes(json_lines(rows))
    graded = read_published_rows(folder / "qa.rows.jsonl", "mine")
    (folder / "qa.summary.json").write_bytes(json_document(summary_document(graded, config)))
    (folder / "qa.stats.json").write_bytes(json_document(statistics_document(graded, config)))
    if answers_too:
        write_answers(folder, rows)
    return folder


def write_answers(folder: Path, rows) -> None:
    graded_only = {"grade_correct", "grade_rule", "grader_version", "question_type"}
    graded_only |= {"support_all_retained", "support_recall"}
    (folder / "responses").mkdir()
    for row in rows:
        answer = {key: value for key, value in row.items() if key not in graded_only}
        answer["created_at"] = "2026-09-02T08:00:00Z"
        (folder / "responses" / f"{row['row_id']}.json").write_bytes(json_document(answer))


def marker(protocol) -> dict:
    config = protocol.config
    return {
        "schema_version": 2,
        "protocol_id": config.protocol_id,
        "created_at": "2026-09-02T07:59:00Z",
        "git": {"head": "0" * 40, "dirty": False},
        "artifacts": protocol.identity.as_dict(),
        "dataset": config.dataset.model_dump(),
        "qa": {
            "capacity": config.pool.qa_capacity,
            **config.qa.model_dump(exclude={"answer_prompt", "provider"}, exclude_none=True),
        },
    }


def row_of(task, prediction: str, model: str) -> dict:
    decision = task.decision
    case = decision.case
    grade = grade_answer(prediction, case.texts.answer)
    return {
        "schema_version": 1,
        "row_id": task.row_id,
        "case_id": case.case_id,
        "source": case.source,
        "scenario": case.scenario,
        "question_type": case.question_type,
        "policy": decision.policy,
        "capacity": decision.capacity,
        "kept_fact_ids": list(decision.kept_fact_ids),
        "support_all_retained": decision.support_retained,
        "support_recall": decision.support_recall,
        "prediction": prediction,
        "grade_correct": grade.correct,
        "grade_rule": grade.rule,
        "grader_version": "deterministic-overlap-v1",
        "attempts": 1,
        "request_fingerprint": task.fingerprint,
        "response_model": model,
        "usage": {
            "prompt_tokens": 120,
            "prompt_cache_hit_tokens": 20,
            "prompt_cache_miss_tokens": 100,
            "completion_tokens": 7,
            "total_tokens": 127,
        },
    }


def read_rows(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "qa.rows.jsonl").read_text("utf-8").splitlines()]


def change_row(folder: Path, place: int, **values) -> None:
    rows = read_rows(folder)
    rows[place].update(values)
    (folder / "qa.rows.jsonl").write_bytes(json_lines(rows))
