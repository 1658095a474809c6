#!/usr/bin/env python3
"""Runs a program of a set under PyTorch's profiler, and writes its Chrome trace: what `pipeline view` is
to say of such a trace is what it says of a recording.

    FOREIGN_LOCK=/tmp/lock profiled.py TRACE.json PROGRAM.py wrong|right
"""
import runpy
import sys

import torch
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile

trace, program, twin = sys.argv[1:4]
sys.argv = [program, twin]
torch.cuda.init()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
             experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)) as profiler:
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit:
        pass
profiler.export_chrome_trace(trace)
