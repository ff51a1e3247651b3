#!/usr/bin/env bash
# Runs one Kafka broker (KRaft, also its own controller) on the loopback, for tests, until its standard input ends.
#
#   broker.sh DIRECTORY PORT CONTROLLER_PORT [--apart] [SETTING=VALUE ...] [--add-scram=USER ...]
#
# --apart: the controller is a process of its own, which no harm is done to, and `kill` is done once it has noticed. A broker
# that comes back before that believes for a while that it still leads its partitions, and then hears that nobody does. Those
# of Kafka 4.4.0 take such partitions for deleted, and end transactions without writing their markers (KAFKA-20734):
# readers of committed records then wait for ever. Whoever kills brokers under transactions needs this.
#
# Prints `ready` once it can be used. Lines on its standard input are commands, each answered with `done`: `kill` (as by
# a crash), `stop` (in good order), `start` (again), `freeze` and `thaw`. Everything it writes is in DIRECTORY, which must be new, and is removed in the
# end; broker.log there says what goes wrong. The jars are those of `mvn -q -B package` in this folder.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
directory=$1 port=$2 controller=$3
shift 3
classpath="$here/target/libs/*"
settings=() users=() apart=
for argument; do
    case $argument in
    --apart) apart=yes ;;
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
    if [[ $apart ]]; then
        cat <<SETTINGS
process.roles=broker
controller.quorum.voters=2@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$port
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
SETTINGS
    fi
    printf '%s\n' "${settings[@]}"
} >"$directory/server.properties"
# It checks what groups are set to, and so has the same limits.
{
    grep -v '^advertised.listeners=' "$directory/server.properties"
    cat <<SETTINGS
process.roles=controller
node.id=2
listeners=CONTROLLER://127.0.0.1:$controller
log.dirs=$directory/controller
SETTINGS
} >"$directory/controller.properties"

run() {
    exec java -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -XX:TieredStopAtLevel=1 -cp "$classpath" "$@"
}
# All have one id, so that a second broker can join the first's cluster.
format() {
    (run kafka.tools.StorageTool format -t a3Byb2MtdGVzdHMtb25lMQ -c "$@") >>"$directory/format.log" 2>&1
}
format "$directory/server.properties" "${users[@]}"

controller=
if [[ $apart ]]; then
    format "$directory/controller.properties"
    (exec java -Xms64m -Xmx256m -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
        -Dorg.slf4j.simpleLogger.log.org.apache.kafka.controller.ReplicationControlManager=info -cp "$classpath" \
        kafka.Kafka "$directory/controller.properties") >>"$directory/controller.log" 2>&1 </dev/null &
    controller=$!
fi

# How often the controller has given the broker up.
fenced() {
    grep -ci "fencing broker" "$directory/controller.log" || true
}

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
crash() {
    local before
    [[ $apart ]] && before=$(fenced)
    end
    while [[ $apart ]] && (($(fenced) == before)) && kill -0 "$controller" 2>/dev/null; do
        sleep 0.1
    done
}
end_all() {
    end
    [[ ! $controller ]] || kill -9 "$controller" 2>/dev/null || true
    wait 2>/dev/null || true
}
trap end_all EXIT

start
echo ready
while read -r command; do
    case $command in
    kill) crash ;;
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
end_all
rm -rf "$directory"
