set -- -t 4 -pv 2 -m=3 tail
while getopts "t:p:vm:" option; do
  case $option in
    t) TP=$OPTARG ;;
    p) PP=$OPTARG ;;
    m) M=$OPTARG ;;
    v) VERBOSE=1 ;;
  esac
done
shift $((OPTIND - 1))
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --tensor-model-parallel-size $TP --pipeline-model-parallel-size "$PP" --data-path "$VERBOSE" $M "$@"
