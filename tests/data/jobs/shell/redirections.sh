set -e
mkdir -p logs/run > /dev/null 2>&1
trap 'echo failed' ERR
exec 3>&1
export CUDA_DEVICE_MAX_CONNECTIONS=1 NCCL_DEBUG=INFO
ulimit -n 65536 || true
A=1 B=2 python prepare.py --num-layers 8 "$A" $CUDA_DEVICE_MAX_CONNECTIONS >> logs/run/out.txt 2>&1 &
wait
nvidia-smi -L | wc -l | tee count.txt
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --bf16 2>&1 | tee log.txt
