"""Stores that live through a trace fact by fact, in plain loops: what the arrays must agree with."""

from datetime import UTC, datetime, timedelta

from deermem_eval.policies import load_policy, select_facts_for_capacity
from deermem_eval.traces.setting import CONFIRM_STREAM, chance
from deermem_eval.traces.simulator import PUBLISHED_WEIGHTS
from deermem_eval.traces.trace import EVENTS

ACCESS_HALF_LIFE = timedelta(days=30)


def literal_life(trace, policy, capacity, *, confidence, seed=0, weights=PUBLISHED_WEIGHTS):
    """Return the indices of the facts that a store holds after every event."""
    draws = iter(chance(seed, CONFIRM_STREAM, list(trace.kinds).count(EVENTS.index("confirm"))))
    facts, usage, after = [], {}, []
    for place, kind in enumerate(trace.kinds):
        event = EVENTS[kind]
        now = datetime.fromtimestamp(float(trace.times[place]), UTC)
        if event != "need":
            index = int(trace.subjects[place])
            id_ = trace.fact_ids[index]
            here = [fact for fact in facts if fact["id"] == id_]
        if event == "create":
            facts.append(
                {
                    "id": id_,
                    "category": trace.categories[index],
                    "confidence": float(confidence[index]),
                    "createdAt": now.isoformat(),
                }
            )
            if len(facts) > capacity:
                stays = _stays(policy, facts, capacity, usage, now, weights)
                facts = [fact for fact in facts if fact["id"] in stays]
                usage = {id_: entry for id_, entry in usage.items() if id_ in stays}
        elif event == "access" and here:
            usage[id_] = _after_access(usage.get(id_), now)
        elif event == "confirm":
            happens = next(draws) < trace.probabilities[place]
            if happens and here:
                here[0]["lastConfirmedAt"] = now.isoformat()
        after.append({trace.fact_ids.index(fact["id"]) for fact in facts})
    return after


def _stays(policy, facts, capacity, usage, now, weights):
    if policy in ("confidence", "hybrid-v1"):
        decision = select_facts_for_capacity(
            facts,
            max_facts=capacity,
            policy=policy,
            usage=usage,
            now=now,
            confidence_weight=weights[0],
            confirmation_weight=weights[1],
            access_weight=weights[2],
        )
        return {fact["id"] for fact in decision.kept}
    return set(load_policy(policy).keep(facts, max_facts=capacity, usage=usage, now=now))


def _after_access(entry, now):
    if entry is None:
        return {"accessHeat": 1.0, "accessCount": 1, "lastAccessedAt": now.isoformat()}
    since = now - datetime.fromisoformat(entry["lastAccessedAt"])
    return {
        "accessHeat": entry["accessHeat"] * 2.0 ** (-(since / ACCESS_HALF_LIFE)) + 1.0,
        "accessCount": entry["accessCount"] + 1,
        "lastAccessedAt": now.isoformat(),
    }
