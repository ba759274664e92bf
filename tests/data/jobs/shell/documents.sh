GBS=64
cat <<EOF > /tmp/config.json
{"train_batch_size": $GBS, "text": "$(echo made)"}
EOF
read A B REST <<< "one two  three four"
IFS=, read -ra PARTS <<< "x,y,z"
mapfile -t LINES <<< "$(seq 2 4)"
while read -r line; do LAST=$line; done <<'EOF'
first $A
second $B
EOF
TEXT=$(cat <<-EOF
	tab $GBS
	EOF
)
readarray -t MORE < <(echo p; echo q)
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --data-path "$A" "$B" "$REST" "${PARTS[1]}" ${#LINES[@]} "${LINES[2]}" "$LAST" "$TEXT" "${MORE[@]}"
