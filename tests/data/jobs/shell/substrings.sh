P=/data/models/Llama-3.1-70B.tar.gz
F=${P##*/}
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --data-path "${F%.tar.gz}" ${F%%.*} ${P#/*/} ${F:0:5} ${F: -2} ${F:6:3} ${#F} ${F/a/A} ${F//[0-9]/N} \
  ${F^^} ${F,,} ${F/%gz/xz} ${F/#L/l} "${P%/*}" ${F//./} ${F//-/ }
