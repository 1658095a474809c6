"""calls.py FAKES LIBRARY - calls of CUDA's from Python, so to say: loads the tests' driver and CUPTI and
the recorder, as CUDA would, and tells it of calls, with the interpreter's lock and without. Prints
the lines that the recording must have."""
import ctypes
import sys
import threading

RUNTIME, DEVICE_SYNCHRONIZE, ENTER, EXIT = 2, 165, 0, 1


class Data(ctypes.Structure):
    _fields_ = [("site", ctypes.c_int), ("name", ctypes.c_void_p), ("params", ctypes.c_void_p),
                ("result", ctypes.c_void_p), ("symbol", ctypes.c_void_p), ("context", ctypes.c_void_p),
                ("context_number", ctypes.c_uint32), ("shared", ctypes.c_void_p), ("id", ctypes.c_uint32)]


fakes, library = sys.argv[1:]
ctypes.CDLL(f"{fakes}/libcuda.so.1", ctypes.RTLD_GLOBAL)
cupti = ctypes.CDLL(f"{fakes}/libcupti.so.13", ctypes.RTLD_GLOBAL)
cupti.fake_cupti.restype = ctypes.POINTER(ctypes.c_void_p)
assert ctypes.CDLL(library).InitializeInjection() == 1
told = cupti.fake_cupti()[0]
context = (ctypes.c_uint32 * 2)(1, 0)
arguments = (None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(Data))
without_lock = ctypes.CFUNCTYPE(*arguments)(told)
with_lock = ctypes.PYFUNCTYPE(*arguments)(told)
number = 0


def synchronize(called):
    global number
    number += 1
    data = Data(context=ctypes.addressof(context), context_number=1, id=number)
    for data.site in (ENTER, EXIT):
        called(None, RUNTIME, DEVICE_SYNCHRONIZE, data); line = sys._getframe().f_lineno
    print(f'["line",{number},"{__file__}:{line}","synchronize"]')


def steps():
    for called in (without_lock, with_lock):
        synchronize(called)
        list(map(synchronize, [called]))


steps()
worker = threading.Thread(target=steps)
worker.start()
worker.join()
