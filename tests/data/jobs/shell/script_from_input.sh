MODEL=small
sbatch <<EOF
#!/bin/bash
#SBATCH --nodes=2
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 \
  --seq-length 1024 --data-path $MODEL \${MODEL:-none}
EOF
