MODE=${MODE:-train}
if [ $MODE = train ]; then
    if [ "${FP8:-false}" = true ]; then
        pr="--fp8-format hybrid"
    elif [ "${BF16:-true}" = true ]; then
        pr="--bf16"
        case ${AC:-sel} in full) ac="--recompute-granularity full";; sel|selective) ac="--recompute-granularity selective";; esac
    fi
else
    pr="--fp16"
fi
[[ $MODE == train ]] && extra=(--use-distributed-optimizer) || extra=()
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 $pr $ac "${extra[@]}"
