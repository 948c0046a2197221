"""The selection rule: which rows of the data set are the official cases, and in which scenario."""

from collections.abc import Mapping, Sequence

from deermem_eval.cases.records import Record
from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol.manifests import OfficialManifest, Selection


def is_eligible(record: Record, selection: Selection) -> bool:
    """Whether a row of an eligible type passes every exclusion of the manifest.

    The rules, in the words of PR #4810: no pilot id, no abstention question, an answer of
    acceptable length without a hedge (in any case), evidence of acceptable length.
    """
    if record.texts is None:
        raise DeermemEvalError(
            "the selection rule reads answers, and these records carry no texts; name the data "
            "set with --dataset"
        )
    answer = record.texts.answer
    return (
        record.question_type in selection.eligible_question_types
        and record.question_id not in selection.excluded_pilot_ids
        and not record.question_id.endswith(selection.exclude_abstention_suffix)
        and selection.answer_min_chars <= len(answer) <= selection.answer_max_chars
        and not any(
            hedge.lower() in answer.lower() for hedge in selection.answer_excluded_substrings
        )
        and selection.evidence_min_chars <= record.evidence_chars <= selection.evidence_max_chars
    )


def select_official_cases(
    records: Sequence[Record], manifest: OfficialManifest
) -> dict[str, tuple[str, ...]]:
    """Recompute the official cases by scenario from a whole data set.

    For each question type the first `take_per_question_type` eligible ids in sorted order are
    taken; consecutive groups of `cases_per_type_per_scenario` go to the scenarios in
    `scenario_order`.

    Returns
    -------
    dict of str to tuple of str
        Case ids by scenario, ordered by (question type, id).

    Raises
    ------
    DeermemEvalError
        There are fewer eligible rows of a type than the rule takes.
    """
    selection = manifest.selection
    group = selection.cases_per_type_per_scenario
    by_scenario: dict[str, list[str]] = {name: [] for name in manifest.scenario_order}
    for question_type in sorted(selection.eligible_question_types):
        ids = sorted(
            record.question_id
            for record in records
            if record.question_type == question_type and is_eligible(record, selection)
        )
        if len(ids) < selection.take_per_question_type:
            raise DeermemEvalError(
                f"the data set has {len(ids)} eligible rows of type {question_type}, and the "
                f"selection rule takes {selection.take_per_question_type}; use the whole file"
            )
        for place, scenario in enumerate(manifest.scenario_order):
            by_scenario[scenario] += ids[place * group : (place + 1) * group]
    return {name: tuple(ids) for name, ids in by_scenario.items()}


def refuse_other_selection(
    selected: Mapping[str, Sequence[str]], manifest: OfficialManifest
) -> None:
    """Compare a recomputed selection with the manifest, id by id.

    Raises
    ------
    DeermemEvalError
        Names the scenario and the first id that only one side has.
    """
    for scenario, ids in selected.items():
        listed = manifest.scenarios[scenario]  # type: ignore[index]
        for id_ in sorted(set(ids) ^ set(listed)):
            side = "only the rule picks" if id_ in ids else "only the manifest lists"
            raise DeermemEvalError(
                f"official manifest, scenario {scenario}: {side} {id_}; "
                "the manifest does not belong to this data set"
            )
