"""Uploads a sound commit with a file of 5 GiB of zeros: as a pack it has five megabytes."""

import hashlib, struct, sys, urllib.request, zlib

SIZE = 5 << 30
baseline = sys.argv[1]

def head(kind, size):
    byte, size = kind << 4 | size & 15, size >> 4
    out = bytearray()
    while size:
        out.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    out.append(byte)
    return bytes(out)

def name(kind, content):
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content)

# A piece of zeros that says nothing of what is before or after it can be repeated; the checksum of zeros is known.
piece = 64 << 20
deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
zeros = deflate.compress(bytes(piece)) + deflate.flush(zlib.Z_FULL_FLUSH)
blob = b"\x78\xda" + zeros * (SIZE // piece) + b"\x03\x00" + struct.pack(">I", SIZE % 65521 << 16 | 1)
digest = hashlib.sha1(f"blob {SIZE}\0".encode())
for _ in range(SIZE // piece):
    digest.update(bytes(piece))
tree = b"100644 zeros\0" + digest.digest()
commit = (f"tree {name('tree', tree).hexdigest()}\nparent {baseline}\nauthor a <a@b> 1000000000 +0000\n"
          "committer a <a@b> 1000000000 +0000\n\nhuge\n").encode()
pack = b"PACK" + struct.pack(">II", 2, 3)
pack += head(1, len(commit)) + zlib.compress(commit) + head(2, len(tree)) + zlib.compress(tree) + head(3, SIZE) + blob
pack += hashlib.sha1(pack).digest()
print(len(pack), "bytes")
url = "http://eval-sidecar:8700/v1/candidates/" + name("commit", commit).hexdigest()
try:
    print(urllib.request.urlopen(urllib.request.Request(url, data=pack, method="PUT")).status)
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
