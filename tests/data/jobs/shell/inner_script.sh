export LEVEL=4
UNSEEN=5
cd "$(dirname "$0")"
MODE=x bash start.bash first "second word"
