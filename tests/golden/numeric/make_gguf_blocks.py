"""Random blocks of every GGUF type we read and their values by the gguf package (0.19): writes gguf_blocks.safetensors."""
import pathlib

import numpy as np, gguf
from gguf import GGMLQuantizationType as T
from gguf.quants import dequantize
from safetensors.numpy import save_file
rng=np.random.default_rng(7)
dpos={'Q4_0':[0],'Q4_1':[0,2],'Q5_0':[0],'Q5_1':[0,2],'Q8_0':[0],'IQ4_NL':[0],'Q2_K':[80,82],'Q3_K':[108],'Q4_K':[0,2],'Q5_K':[0,2],'Q6_K':[208]}
out={}
for n,ps in dpos.items():
    t=T[n]; bs,ts=gguf.GGML_QUANT_SIZES[t]
    nb=3 if bs==256 else 8
    b=rng.integers(0,256,(nb,ts),dtype=np.uint8)
    for p in ps:
        f=(rng.standard_normal(nb)*0.05).astype(np.float16)
        b[:,p:p+2]=f.view(np.uint8).reshape(nb,2)
    b=b.reshape(1,-1)
    out[n.lower()+'.blocks']=b.copy()
    out[n.lower()+'.values']=np.ascontiguousarray(dequantize(b,t).astype(np.float32))
save_file(out,pathlib.Path(__file__).parent / 'gguf_blocks.safetensors')
