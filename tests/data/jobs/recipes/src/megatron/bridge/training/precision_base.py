from dataclasses import dataclass


@dataclass
class PrecisionBase:
    bf16: bool = False
    fp8: str = None
