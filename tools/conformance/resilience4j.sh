#!/usr/bin/env bash
# Plays the rows of docs/migrating.md for resilience4j with that library and with sluice
# eval, in virtual time. Maven gets the library, pinned in resilience4j/pom.xml.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
for needed in java mvn; do
	command -v "$needed" >/dev/null || die "$needed is missing (on Debian: apt-get install openjdk-17-jdk-headless maven)"
done
here=$root/tools/conformance/resilience4j jars=$cache/resilience4j
mvn -q -B -f "$here/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies \
	-DoutputDirectory="$jars" >"$work/mvn.log" 2>&1 || { cat "$work/mvn.log" >&2; die "cannot get resilience4j"; }
sluice
# Its dependency slf4j says on standard error that it has no log.
java -cp "$jars/*" "$here/Rows.java" "$SLUICE" docs/migrating.md 2> >(grep -v '^SLF4J' >&2)
