"""Lexical retrieval: the facts that a turn would bring up, by TF-IDF over the facts that there are by then."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

_WORD = re.compile(r"[^\W_]+")
SHORTEST_WORD = 3


def words(text: str) -> Counter[str]:
    """Count a text's words, in lower case; the shortest ones say little and are left out."""
    found = _WORD.findall(text.lower())
    return Counter(word for word in found if len(word) >= SHORTEST_WORD or not word.isascii())


def top_hits(
    turns: Sequence[str], facts: Sequence[str], turn_of_fact: Sequence[int], *, top_k: int
) -> Iterator[list[tuple[int, float]]]:
    """Yield, for every turn, the facts of earlier turns that are nearest to it.

    Parameters
    ----------
    turns, facts : sequence of str
    turn_of_fact : sequence of int
        Which turn each fact was taken from, ascending; a fact can be found from the next turn on.
    top_k : int
        Most facts a turn.

    Yields
    ------
    list of (int, float)
        Facts with their cosine similarity, above 0, best first; ties in the order of the facts.

    Notes
    -----
    A word counts `tf (1 + ln((1 + n) / (1 + df)))` over the n facts that there are before the turn, so
    that nothing is known in advance.
    """
    from scipy.sparse import csr_array

    counts = [words(fact) for fact in facts]
    column = {word: i for i, word in enumerate(dict.fromkeys(w for c in counts for w in c))}
    at = [(f, column[word], n) for f, count in enumerate(counts) for word, n in count.items()]
    rows, columns, values = np.array(at, dtype=float).reshape(-1, 3).T
    places = (rows.astype(int), columns.astype(int))
    matrix = csr_array((values, places), shape=(len(facts), len(column)))
    squared = csr_array((values * values, places), shape=matrix.shape)
    facts_with = np.zeros(len(column))
    there = 0
    for place, turn in enumerate(turns):
        while there < len(facts) and turn_of_fact[there] < place:
            facts_with[[column[word] for word in counts[there]]] += 1
            there += 1
        asked, unknown = np.zeros(len(column)), 0
        for word, count in words(turn).items():
            if word in column:
                asked[column[word]] = count
            else:
                unknown += count * count
        if not there or not asked.any():
            yield []
            continue
        weight = (1.0 + np.log((1 + there) / (1 + facts_with))) ** 2
        dots = (matrix @ (asked * weight))[:there]
        of_turn = asked * asked @ weight + unknown * (1.0 + np.log(1 + there)) ** 2
        lengths = np.sqrt((squared @ weight)[:there] * of_turn)
        similarity = np.divide(dots, lengths, out=np.zeros(there), where=lengths > 0)
        best = np.argsort(-similarity, kind="stable")[:top_k]
        yield [(int(i), float(similarity[i])) for i in best if similarity[i] > 0]
