"""Graders by version: a prediction and a reference in, a grade out, blind to the policy."""

from deermem_eval.errors import DeermemEvalError
from deermem_eval.grades import overlap_v1, overlap_v2
from deermem_eval.grades.grade import Grade

FROZEN_GRADER = overlap_v1.VERSION
GRADERS = {overlap_v1.VERSION: overlap_v1.grade, overlap_v2.VERSION: overlap_v2.grade}


def grade_answer(prediction: str, reference: str, *, version: str = FROZEN_GRADER) -> Grade:
    """Grade one prediction.

    Parameters
    ----------
    prediction, reference : str
        What the model answered, and what is right.
    version : str
        `deterministic-overlap-v1`, the frozen grader of PR #4810, or `unicode-overlap-v2`.

    Returns
    -------
    Grade
        `correct` and `rule`.

    Raises
    ------
    UngradableReferenceError
        The grader finds nothing in the reference that it could compare with.
    DeermemEvalError
        There is no grader of that version.

    Examples
    --------
    >>> grade_answer("The red one.", "red")
    Grade(correct=True, rule='substring')
    >>> grade_answer("not red", "red", version="unicode-overlap-v2")
    Grade(correct=False, rule='negation-conflict')
    """
    if version not in GRADERS:
        raise DeermemEvalError(
            f"grader version {version!r} is not one of {', '.join(GRADERS)}; choose one of them"
        )
    return GRADERS[version](prediction, reference)
