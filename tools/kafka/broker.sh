#!/usr/bin/env bash
# Runs one Kafka broker (KRaft, also its own controller) on the loopback, for tests, until its standard input ends.
#
#   broker.sh DIRECTORY PORT CONTROLLER_PORT [SETTING=VALUE ...] [--add-scram=USER ...]
#
# Prints `ready` once it can be used. Lines on its standard input are commands, each answered with `done`: `kill` (as by
# a crash), `stop` (in good order), `start` (again), `freeze` and `thaw`. Everything it writes is in DIRECTORY, which must be new, and is removed in the
# end; broker.log there says what goes wrong. The jars are those of `mvn -q -B package` in this folder.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
directory=$1 port=$2 controller=$3
shift 3
classpath="$here/target/libs/*"
settings=() users=()
for argument; do
    case $argument in
    --*) users+=("$argument") ;;
    *) settings+=("$argument") ;;
    esac
done

mkdir -p "$directory"
{
    cat <<SETTINGS
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=$directory/data
auto.create.topics.enable=false
# A single broker, and few partitions of its own topics: it starts sooner.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
# What takes seconds elsewhere takes moments here.
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
group.consumer.min.session.timeout.ms=500
group.consumer.max.session.timeout.ms=600000
group.consumer.heartbeat.interval.ms=200
group.consumer.min.heartbeat.interval.ms=50
transaction.abort.timed.out.transaction.cleanup.interval.ms=200
log.cleaner.backoff.ms=200
log.retention.check.interval.ms=1000
SETTINGS
    printf '%s\n' "${settings[@]}"
} >"$directory/server.properties"

run() {
    exec java -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -XX:TieredStopAtLevel=1 -cp "$classpath" "$@"
}
# All have one id, so that a second broker can join the first's cluster.
(run kafka.tools.StorageTool format -t a3Byb2MtdGVzdHMtb25lMQ \
    -c "$directory/server.properties" "${users[@]}") >"$directory/format.log" 2>&1

start() {
    (exec java -Xms256m -Xmx768m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$classpath" \
        kafka.Kafka "$directory/server.properties") >>"$directory/broker.log" 2>&1 </dev/null &
    broker=$!
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        kill -0 "$broker" 2>/dev/null || { tail -n 20 "$directory/broker.log" >&2; exit 1; }
        sleep 0.1
    done
}

end() {
    kill -9 "$broker" 2>/dev/null || true
    wait "$broker" 2>/dev/null || true
}
trap end EXIT

start
echo ready
while read -r command; do
    case $command in
    kill) end ;;
    stop)
        kill -TERM "$broker" 2>/dev/null || true
        wait "$broker" 2>/dev/null || true
        ;;
    start) start ;;
    freeze) kill -STOP "$broker" ;;
    thaw) kill -CONT "$broker" ;;
    *) echo "unknown command $command" >&2 ;;
    esac
    echo "done"
done
end
rm -rf "$directory"
