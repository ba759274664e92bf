#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
# A dense model in the manner of an example: arrays, defaults, arithmetic, conditions.
export CUDA_DEVICE_MAX_CONNECTIONS=1
TP=${TP:-4}
PP=${PP:-2}
LAYERS=$((16 * PP))
USE_FP8=${USE_FP8:-no}

MODEL_ARGS=(
    --num-layers $LAYERS   # a comment
    --hidden-size 4096 --num-attention-heads 32
    --group-query-attention --num-query-groups 8
    --seq-length 4096 --max-position-embeddings 4096
    --swiglu --normalization RMSNorm --disable-bias-linear
    --position-embedding-type rope
    --untie-embeddings-and-output-weights
    --hidden-dropout 0.0 --attention-dropout 0.0
)
EXTRA=()
if [[ "$USE_FP8" == "yes" ]]; then
    EXTRA+=("--fp8-format hybrid" "--fp8-recipe tensorwise")
fi

srun python pretrain_gpt.py \
    ${MODEL_ARGS[@]} \
    --tensor-model-parallel-size $TP \
    --pipeline-model-parallel-size $PP \
    --num-layers-per-virtual-pipeline-stage 4 \
    --sequence-parallel --use-distributed-optimizer \
    --overlap-grad-reduce --overlap-param-gather \
    --micro-batch-size 2 --global-batch-size 256 \
    --tokenizer-type NullTokenizer --vocab-size 32000 \
    --cross-entropy-loss-fusion --bf16 "${EXTRA[@]}" \
    --lr 3e-4 --train-iters $ITERATIONS --save "$1"
