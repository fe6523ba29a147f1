"""Runs another program under VCR.py: `taped.py CASSETTE SERIALIZER PROGRAM`."""

import runpy
import sys

import vcr

cassette, serializer, program = sys.argv[1:4]
sys.argv = [program]
with vcr.use_cassette(cassette, serializer=serializer, record_mode="all"):
    runpy.run_path(program, run_name="__main__")
