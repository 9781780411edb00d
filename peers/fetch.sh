#!/bin/sh
# Put the peers of `make peers` into $1, unless they are there: Apache Kafka (pom.xml), its Java client in a
# program of ours (java/), and, where this machine has Node and Go, clients of those (node/, go/) and where
# there is pyspark its own Kafka connector (spark-pom.xml). Ordinary package clients, by package name.
set -eu
directory=${1:-.peers}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)

for tool in java javac mvn; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "The peer tests need a JDK, 17 or later, and Maven; this machine has no '$tool' on its path." >&2
        echo "On Debian and Ubuntu: apt-get install default-jdk-headless maven" >&2
        exit 1
    fi
done

# fetch NAME COMMAND SOURCE…: run COMMAND in an empty $directory/NAME, unless it ran with the same sources.
fetch() {
    name=$1 command=$2
    shift 2
    target=$directory/$name
    if [ -e "$target/.fetched" ] && cat "$@" | cmp -s - "$target/.fetched"; then
        return 0
    fi
    echo "Fetching $name into $directory"
    rm -rf "$target"
    mkdir -p "$target"
    if ! (cd "$target" && "$command") >"$target/fetch.log" 2>&1; then
        cat "$target/fetch.log" >&2
        echo "The peer '$name' could not be fetched." >&2
        exit 1
    fi
    cat "$@" >"$target/.fetched"
}

left_out() {
    echo "$1: LEFT OUT, this machine has no $2"
}

jars() {
    mvn --quiet --batch-mode --file "$1" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$PWD"
}
kafka() { jars "$here/pom.xml"; }
spark() { jars "$here/spark-pom.xml"; }
java_client() { javac -d . -cp "$directory/kafka/*" "$here"/java/*.java; }
node_clients() {
    cp "$here/node/package.json" .
    npm install --no-package-lock --no-audit --no-fund
}
go_clients() { (cd "$here/go" && go build -trimpath -o "$directory/go/" ./...); }

fetch kafka kafka "$here/pom.xml"
fetch java java_client "$here/pom.xml" "$here"/java/*.java
fetch spark spark "$here/spark-pom.xml"
if command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1; then
    fetch node node_clients "$here/node/package.json"
else
    left_out "kafkajs" "Node with npm"
fi
if command -v go >/dev/null 2>&1; then
    fetch go go_clients "$here/go/go.mod" "$here"/go/*/main.go
else
    left_out "franz-go and Sarama" "Go"
fi
