"""The one error that a user can cause."""


class DeermemEvalError(Exception):
    """Something was refused.

    The message is one line: what was refused, the offending file, row or value, and what to do
    about it. The command line prints it and exits 2; a traceback is reserved for faults of ours.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))
