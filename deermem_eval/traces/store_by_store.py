"""Any policy of the registry in a simulated life: one store at a time, with facts as DeerMem stores them.

A trace has no texts, so that the content of every fact is empty.
"""

from datetime import UTC, datetime
from typing import Any

import numpy as np

from deermem_eval.errors import DeermemEvalError
from deermem_eval.memory import accessed, confirmed
from deermem_eval.policies import apply_policy, load_policy
from deermem_eval.traces.setting import CONFIRM_STREAM, Setting, chance
from deermem_eval.traces.trace import ACCESS, CONFIRM, CREATE, Floats, Integers, Trace
from deermem_eval.traces.victims import KEYS


def simulate_each(trace: Trace, setting: Setting, confidence: Floats, seeds: Integers) -> Integers:
    """Let stores live through a trace, a policy call each time that one is over its capacity.

    Parameters and result are those of `deermem_eval.traces.simulate`.

    Raises
    ------
    DeermemEvalError
        The policy is unknown, fails, or is a bound.
    """
    policy = load_policy(setting.policy)
    check_policy(setting.policy)
    rows = np.broadcast_to(confidence, (len(seeds), len(trace.fact_ids)))
    lives = []
    for of_store, seed in zip(rows, seeds.tolist(), strict=True):
        draws = iter(chance(seed, CONFIRM_STREAM, len(trace.places(CONFIRM))).tolist())
        lives.append(_life(trace, setting, policy, of_store.tolist(), draws))
    return np.array(lives, dtype=np.int64)


def check_policy(name: str) -> None:
    """Raise `DeermemEvalError` unless a policy can live through a trace: known, and no bound."""
    if name not in KEYS and load_policy(name).is_bound:
        raise DeermemEvalError(
            f"policy {name} must be told what will be asked for; the bound of a life is computed "
            "beside every simulation"
        )


def _life(
    trace: Trace, setting: Setting, policy: Any, confidence: list[float], draws: Any
) -> list[int]:
    held: dict[str, dict[str, Any]] = {}
    usage: dict[str, dict[str, Any]] = {}
    index = {id_: i for i, id_ in enumerate(trace.fact_ids)}
    evicted_at = [len(trace.kinds)] * len(index)
    half_life = setting.parameters.access_half_life_days
    events = zip(trace.kinds, trace.subjects, trace.times, trace.probabilities, strict=True)
    for place, (kind, subject, seconds, probability) in enumerate(events):
        if kind not in (CREATE, ACCESS, CONFIRM):
            continue
        id_, now = trace.fact_ids[subject], datetime.fromtimestamp(float(seconds), UTC)
        happens = kind != CONFIRM or next(draws) < probability
        if kind == CREATE:
            held[id_] = {
                "id": id_,
                "content": "",
                "category": trace.categories[subject],
                "confidence": confidence[subject],
                "createdAt": now.isoformat(),
            }
            if len(held) > setting.capacity:
                kept = apply_policy(
                    policy, list(held.values()), max_facts=setting.capacity, usage=usage, now=now
                )
                for gone in set(held) - {str(fact["id"]) for fact in kept.kept}:
                    del held[gone]
                    usage.pop(gone, None)
                    evicted_at[index[gone]] = place
        elif id_ in held and kind == ACCESS:
            usage[id_] = accessed(usage.get(id_), now, half_life_days=half_life)
        elif id_ in held and happens:
            held[id_] = confirmed(held[id_], now)
    return evicted_at
