#!/usr/bin/python3
"""A shell that starts a program for every line of a list."""

import subprocess

subprocess.run(["sh", "-c", "i=0; while [ $i -lt 3000 ]; do /bin/true; i=$((i+1)); done"],
               check=True)
