#!/bin/sh
# What the system tests need beyond Python. What cannot be had is skipped by its tests, with the reason.
if ! command -v chromium >/dev/null 2>&1; then
    if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
        echo "Installing chromium …"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
    else
        echo "chromium is not installed, and cannot be installed here: browser tests will be skipped."
    fi
fi

# A Postgres server, of which only the programs are used, and Java for Spark.
install_debian() { # what it is for, the command or file that shows that it is there, the package
    for found in $2; do
        if [ -e "$found" ] || command -v "$found" >/dev/null 2>&1; then return; fi
    done
    if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
        echo "Installing $3 …"
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$3"; } >/dev/null ||
            echo "$3 cannot be installed here: the tests of $1 will be skipped."
    else
        echo "$3 is not installed, and cannot be installed here: the tests of $1 will be skipped."
    fi
}
install_debian Postgres "/usr/lib/postgresql/*/bin/initdb initdb" postgresql
install_debian Spark "java" openjdk-17-jre-headless

# axe-core finds what keeps people from reading a page; it is kept beside the virtual environment.
AXE_VERSION=4.14.0
AXE="${VENV:-.venv}/axe"
if [ ! -f "$AXE/node_modules/axe-core/axe.min.js" ]; then
    if ! command -v npm >/dev/null 2>&1 && command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
        echo "Installing npm …"
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq npm >/dev/null
    fi
    if command -v npm >/dev/null 2>&1; then
        echo "Installing axe-core …"
        npm install --silent --no-audit --no-fund --no-save --prefix "$AXE" "axe-core@$AXE_VERSION" >/dev/null 2>&1 ||
            echo "axe-core cannot be installed here: its test will be skipped."
    else
        echo "npm is not installed, and cannot be installed here: the test with axe-core will be skipped."
    fi
fi
exit 0
