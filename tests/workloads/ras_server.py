"""A stand-in for NCCL's RAS service (NVIDIA/nccl, src/ras/client_support.cc, 2.28.9): a process with libnccl mapped that answers as rank 0
of a job on several hosts.

    ras_server.py PORT FOLDER [FAULT]     prints "ready PID"; PORT 0: any, which is printed after the PID

FAULT: dead (rank 5), unresponsive (rank 6), behind (rank 9 has launched one AllReduce less, and nothing moves), still (nothing moves),
old (NCCL before 2.28.7: no JSON), text (2.24's answer to everything), silent, drip (a byte a second), cut (half of the answer), hostile
(nested arrays), garbage, other (another job's processes), huge (an answer that does not end), none (nothing listens)."""

import ctypes
import fcntl
import mmap
import os
import socket
import socketserver
import struct
import sys
import threading
import time

RANKS, PER_HOST, COMMA = int(os.environ.get("RAS_RANKS", 16)), 8, ""  # 2.28.9 writes no comma before "status" of missing ranks


def status(fields):
    return ",\n".join(f'            "{key}": {value}' for key, value in fields)


def identity(rank, pid):
    host = f"192.0.{2 + rank // 1024}.{2 + rank // PER_HOST % 128}"
    return (f'          "rank": {rank},\n          "host": "{host}",\n          "pid": {pid},\n'
            f'          "cuda_dev": {rank % PER_HOST},\n          "nvml_dev": {rank % PER_HOST}')


def rank_text(rank, pid, launched):
    flags = status([("init_state", 0), ("async_error", 0), ("finalize_called", "false"), ("destroy_flag", "false"), ("abort_flag", "false")])
    counts = status([("Broadcast", 2), ("Reduce", 0), ("AllGather", 0), ("ReduceScatter", 0), ("AllReduce", launched)])
    return (f'        {{\n{identity(rank, pid)},\n          "status": {{\n{flags}\n          }},\n'
            f'          "collective_counts": {{\n{counts}\n          }}\n        }}')


def missing_text(rank, pid, dead):
    flags = status([("unresponsive", "true"), ("considered_dead", "true" if dead else "false")])
    return f'        {{\n{identity(rank, pid)}{COMMA}\n          "status": {{\n{flags}\n          }}\n        }}'


def answer(fault, begun):
    first = 1 if fault == "other" else os.getpid()
    launched = 231 if fault in ("behind", "still") else int((time.monotonic() - begun) * 100)
    missing = {"dead": [5], "unresponsive": [6]}.get(fault, [])
    ranks = ",\n".join(rank_text(i, first + i * 100000, launched - (fault == "behind" and i == 9)) for i in range(RANKS) if i not in missing)
    absent = ",\n".join(missing_text(i, first + i * 100000, fault == "dead") for i in missing)
    return (f'{{\n  "nccl_version": "2.28.9",\n  "cuda_runtime_version": 13000,\n  "cuda_driver_version": 13000,\n'
            f'  "timestamp": "2026-11-23 05:48:44",\n  "communicators_count": 1,\n  "communicators": [\n    {{\n'
            f'      "hash": "0x75e2e5c21b901c6d",\n      "secondary_hash": "0xb53880606fc3094c:0x7b902c81ea91d19c",\n      "size": {RANKS},\n'
            f'      "ranks_count": {RANKS - len(missing)},\n      "missing_ranks_count": {len(missing)},\n      "ranks": [\n{ranks}\n      ],\n'
            f'      "missing_ranks": [\n{absent}\n      ]\n    }}\n  ],\n'
            f'  "ras": {{\n    "collection_time_sec": 0.003,\n    "timeouts_count": 0\n  }}\n}}\n').encode()


class Client(socketserver.StreamRequestHandler):
    def send(self, text):
        self.wfile.write(text if isinstance(text, bytes) else text.encode())

    def send_status(self):
        fault, text = self.server.fault, answer(self.server.fault, self.server.begun)
        if fault == "cut":
            text = text[:len(text) // 2]
        elif fault == "hostile":
            text = b"[" * 500000
        elif fault == "garbage":
            text = bytes(range(1, 256)) * 100
        while fault == "huge":
            self.send(b'{"communicators": [' + b"1," * 500000)
        if fault != "drip":
            self.send(text)
        for byte in text if fault == "drip" else b"":
            self.send(bytes([byte]))
            time.sleep(1)

    def handle(self):
        try:
            while line := self.rfile.readline().decode(errors="replace").strip():
                command = line.lower()
                if self.server.fault == "silent":
                    time.sleep(60)
                if command.startswith("client protocol "):
                    self.send("SERVER PROTOCOL 2\n")
                elif command.startswith("timeout ") or (command == "set format json" and self.server.fault not in ("old", "text")):
                    self.send("OK\n")
                elif command == "status":
                    self.send_status()
                    return
                else:
                    self.send(f"ERROR: Unknown command {line}\n")
        except OSError:
            pass


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


def start_loopback():
    """In a new network namespace it is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


def main():
    if os.environ.get("RAS_NAMESPACE"):
        ctypes.CDLL(None).unshare(0x40000000)  # CLONE_NEWNET
        start_loopback()
    port, folder, fault = int(sys.argv[1]), sys.argv[2], (sys.argv[3:] or [""])[0]
    library = os.path.join(folder, "libnccl.so.2")
    with open(library, "wb") as file:
        file.write(b"\0" * 4096)
    with open(library, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    if fault == "none":
        print("ready", os.getpid(), 0, flush=True)
        return threading.Event().wait()
    server = Server(("127.0.0.1", port), Client)
    server.fault, server.begun = fault, time.monotonic()
    print("ready", os.getpid(), server.server_address[1], flush=True)
    server.serve_forever()
    return mapped


if __name__ == "__main__":
    main()
