# Ways a shell waits, each with the seconds that it counts.
said() { echo "$1 $SECONDS"; }
sleep 3600
said sleep
read -r -t 60 line < <(sleep 1000)
said "read $?"
for seconds in 30 10 20; do { sleep "$seconds"; said "job $seconds"; } & done
wait %1 %2 %3
said wait
timeout 30 sleep 1000
said "timeout $?"
