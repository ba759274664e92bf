def first_config():
    cfg = base()
    return cfg


def llama3_70b_pretrain_64gpu_h100_fp8_config():
    """A recipe."""
    cfg = llama3_70b_pretrain_config()
    cfg.mixed_precision = precision("fp8_cs")

    cfg.model.tensor_model_parallel_size = 4
    cfg.model.pipeline_model_parallel_size = 4
    cfg.model.context_parallel_size = 2
    cfg.model.virtual_pipeline_model_parallel_size = 5
    cfg.model.sequence_parallel = True
    cfg.train.global_batch_size = 128
    cfg.train.micro_batch_size = 1
    cfg.ddp.overlap_grad_reduce = False
    cfg.comm_overlap = Overlap(tp_comm_overlap=True)
    return cfg


def llama3_70b_pretrain_64gpu_h100_bf16_config():
    cfg = llama3_70b_pretrain_64gpu_h100_fp8_config()
    cfg.mixed_precision = precision("bf16")
    return cfg
