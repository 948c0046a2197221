"""The per-store selector against a literal implementation of its rule, on the same stores."""

import math
import random
import time
from datetime import UTC, datetime, timedelta

import pytest

from deermem_eval.policies import select_facts_for_capacity

NOW = datetime(2026, 8, 13, tzinfo=UTC)
WEIGHTS = (0.65, 0.25, 0.10)
ROUNDS = {10: 500, 100: 200, 100_000: 3}
CATEGORIES = ("preference", "knowledge", "context", "goal", "correction")


def store(size):
    """Return facts and usage: hardly a time twice, 3 of 5 facts confirmed, 7 of 10 accessed."""
    drawn = random.Random(size)

    def ago(days):
        then = NOW - timedelta(seconds=int(drawn.random() * days * 86_400))
        return then.isoformat().replace("+00:00", "Z")

    facts, usage = [], {}
    for number in range(size):
        fact = {
            "id": f"fact_{number}",
            "content": f"content {number}",
            "category": drawn.choice(CATEGORIES),
            "confidence": round(drawn.random(), 3),
            "createdAt": ago(400),
        }
        if drawn.random() < 0.6:
            fact["lastConfirmedAt"] = ago(200)
        if drawn.random() < 0.7:
            heat = round(drawn.random() * 10, 3)
            usage[fact["id"]] = {"accessHeat": heat, "lastAccessedAt": ago(100)}
        facts.append(fact)
    return facts, usage


STORES = {size: store(size) for size in ROUNDS}


def literal_loop(facts, usage, capacity, policy):
    def number(value):
        if value is None or isinstance(value, bool):
            return None
        try:
            value = float(value)
        except (TypeError, ValueError, OverflowError):
            return None
        return value if math.isfinite(value) else None

    def decay(value, half_life_days):
        if not isinstance(value, str):
            return None
        try:
            then = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))  # noqa: FURB162
        except ValueError:
            return None
        if then.tzinfo is None:
            then = then.replace(tzinfo=UTC)
        days = max(0.0, (NOW - then).total_seconds() / 86_400)
        return 2 ** (-days / half_life_days)

    def score(fact):
        confidence = number(fact.get("confidence"))
        confidence = 0.5 if confidence is None else max(0.0, min(confidence, 1.0))
        if policy == "confidence":
            return {"score": confidence, "components": {"confidence": confidence}}
        freshness = decay(fact.get("lastConfirmedAt"), 90)
        if freshness is None:
            created = decay(fact.get("createdAt"), 90)
            freshness = 0.0 if created is None else 0.5 * created
        entry = usage.get(str(fact.get("id") or ""), {})
        warmth, since = number(entry.get("accessHeat")), decay(entry.get("lastAccessedAt"), 30)
        heat = 0.0
        if warmth is not None and warmth > 0 and since is not None:
            heat = min(1.0, math.log1p(warmth * since) / math.log(9))
        return {
            "score": WEIGHTS[0] * confidence + WEIGHTS[1] * freshness + WEIGHTS[2] * heat,
            "components": {
                "confidence": confidence,
                "confirmationFreshness": freshness,
                "accessHeat": heat,
            },
        }

    scores = {fact["id"]: score(fact) for fact in facts}
    ranked = sorted(facts, key=lambda fact: scores[fact["id"]]["score"], reverse=True)
    slots = min(10, math.ceil(capacity * 0.10)) if policy == "hybrid-v1" else 0
    reserved = [
        fact["id"]
        for fact in ranked
        if str(fact.get("category") or "").strip().lower() == "correction"
    ][:slots]
    taken = set(reserved)
    others = [fact["id"] for fact in ranked if fact["id"] not in taken]
    chosen = {*reserved, *others[: capacity - len(reserved)]}
    kept = [fact for fact in ranked if fact["id"] in chosen]
    evicted = [
        {"id": fact["id"], "category": fact["category"], **scores[fact["id"]]}
        for fact in reversed(ranked)
        if fact["id"] not in chosen
    ]
    return kept, evicted, scores


def on_columns(facts, usage, capacity, policy):
    decision = select_facts_for_capacity(
        facts, max_facts=capacity, policy=policy, usage=usage, now=NOW
    )
    return decision.kept, decision


def on_columns_with_scores(facts, usage, capacity, policy):
    kept, decision = on_columns(facts, usage, capacity, policy)
    return kept, decision.evicted, decision.scores


@pytest.mark.parametrize("size", STORES)
@pytest.mark.parametrize("policy", ["confidence", "hybrid-v1"])
@pytest.mark.parametrize("way", [on_columns, on_columns_with_scores, literal_loop])
def test_select(benchmark, way, policy, size):
    benchmark.group = f"select, {policy}, {size:,} facts"
    arguments = (*STORES[size], size * 7 // 10, policy)
    spent = []

    def run():
        began = time.process_time()
        result = way(*arguments)
        spent.append(time.process_time() - began)
        return result

    kept = benchmark.pedantic(run, rounds=ROUNDS[size], warmup_rounds=1)[0]
    benchmark.extra_info["cpu_seconds"] = sorted(spent)[len(spent) // 2]
    expected = literal_loop(*arguments)[0]
    assert [fact["id"] for fact in kept] == [fact["id"] for fact in expected]
