TP=4
cat > job.sh <<EOF
#!/bin/bash
LOCAL=\$1
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 \\
  --seq-length 1024 --tensor-model-parallel-size $TP --data-path \$LOCAL "\$(cat list.txt)"
EOF
echo one > list.txt
echo two >> list.txt
bash job.sh "a b"
