"""What an agent's bounded memory should forget: the DeerMem eviction evaluation."""

__version__ = "0.1.0"
