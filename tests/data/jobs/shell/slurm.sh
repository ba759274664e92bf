#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8 # all of a node
#SBATCH --ntasks-per-node 2
#SBATCH -c 6
#SBATCH -J my-job
NNODES=$SLURM_NNODES
WORLD=$((SLURM_JOB_NUM_NODES * SLURM_GPUS_PER_NODE))
torchrun --nnodes $NNODES --nproc_per_node ${SLURM_GPUS_ON_NODE} pretrain_gpt.py --num-layers 8 --hidden-size 1024 \
  --data-path $WORLD $SLURM_NTASKS ${SLURM_NTASKS_PER_NODE:-1} $SLURM_CPUS_PER_TASK $SLURM_JOB_NAME
