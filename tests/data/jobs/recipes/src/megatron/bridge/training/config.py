from dataclasses import dataclass, field


@dataclass
class TrainingConfig:
    micro_batch_size: int = 1
    global_batch_size: int = 8


@dataclass
class ConfigContainer:
    model: object = None
    train: TrainingConfig = field(default_factory=TrainingConfig)
    ddp: object = None
    mixed_precision: object = "bf16_mixed"
    comm_overlap: object = None
    peft: object = None
