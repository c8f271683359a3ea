"""Handwritten modules by topic, which together contain every attribute of HLO text."""

# ruff: noqa: E501 - lines of HLO are as long as they are

from __future__ import annotations

_ADDED = """added {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
"""


def _wrap(lines: str) -> str:
    return f"HloModule written\n{_ADDED}ENTRY entry {{{lines}}}\n"


TEXTS = {
    "comparisons": _wrap(r"""
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  a = pred[8] compare(x,y), direction=LT, type=TOTALORDER
  b = pred[8] compare(x,y), direction=GE
  ROOT c = pred[8] compare(x,y), direction=EQ, order=TOTAL
"""),
    "comparisons of unsigned numbers": _wrap(r"""
  x = u32[8] parameter(0)
  b = pred[8] compare(x,x), direction=LT, type=SIGNED
  ROOT a = pred[8] compare(x,x), direction=LT
"""),
    "comparisons of truth values": _wrap(r"""
  x = pred[8] parameter(0)
  b = pred[8] compare(x,x), direction=NE, order=TOTAL
  ROOT a = pred[8] compare(x,x), direction=NE
"""),
    "shardings by named axes": _wrap(r"""
  x = f32[8,8] parameter(0), sharding={mesh['x'=4,'y'=2], [{'x', ?}, {?}], replicated={'y'}}
  y = f32[8,8] copy(x), sharding={mesh['x'=4,'y'=2], [{}, {}]}
  z = f32[8,8] copy(x), sharding={mesh['x'=4,'y'=2], [{'x':(1)2}, {'y'}], unreduced={'x':(2)2}}
  q = f32[8,8] copy(x), sharding={mesh['x'=4,'y'=2], manual}
  r = f32[8,8] copy(x), sharding={mesh['x'=4,'y'=2], unreduced}
  s = f32[8,8] copy(x), sharding={maximal_mesh[device_id=3]}
  t = f32[8,8] copy(x), sharding={mesh['x'=4,'y'=2], device_ids=(7,6,5,4,3,2,1,0), [{'x'}, {}]}
  u = f32[8,8] copy(x), sharding={mesh['x'=4,'y'=2], [{'x'}, {}], manual={'y'}}
  o = f32[8,8] copy(x), sharding={mesh['x'=4,'y'=2], unreduced=max}
  p = f32[8,8] copy(x), sharding={mesh['x'=4,'y'=2], [{'x'}, {}], unreduced=min{'y'}}
  ROOT v = f32[] constant(1), sharding={mesh['x'=4], replicated}
"""),
    "shardings by devices": _wrap(r"""
  x = f32[8,8] parameter(0), sharding={replicated}
  y = f32[8,8] copy(x), sharding={maximal device=1}
  z = f32[8,8] copy(x), sharding={devices=[2,1]0,1}
  a = f32[8,8] copy(x), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}
  b = f32[8,8] copy(x), sharding={devices=[2,1,4]<=[2,2,2]T(2,1,0) last_tile_dim_replicate}
  c = f32[8,8] copy(x), sharding={devices=[2,1,2,2]<=[8] last_tile_dims={manual, replicated}}
  d = f32[8,8] copy(x), sharding={manual}
  e2 = f32[8,8] copy(x), sharding={unknown}
  f = f32[8,8] copy(x), sharding={replicated shard_as 3}
  g = f32[8,8] copy(x), sharding={devices=[8,1]<=[8] shard_like 2 metadata={op_name="x"}}
  h = f32[8,8] copy(x), sharding={unreduced}
  ROOT t = (f32[8,8],f32[8,8]) tuple(a,b), sharding={{replicated},{maximal device=0}}
"""),
    "collectives": _wrap(r"""
  x = f32[8] parameter(0), parameter_replication={true}
  a = f32[8] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=added
  b = f32[8] all-reduce(x), channel_id=2, replica_groups=[2,4]<=[8], use_global_device_ids=true, to_apply=added, constrain_layout=true
  c = f32[8] all-reduce(x), replica_groups={}, to_apply=added
  d = f32[16] all-gather(x), channel_id=1, replica_groups=[4,2]<=[2,4]T(1,0), dimensions={0}, use_global_device_ids=true
  e2 = f32[4] reduce-scatter(x), replica_groups={{0,1}}, dimensions={0}, to_apply=added
  f = f32[8] all-to-all(x), replica_groups={{0,1}}, dimensions={0}
  g = f32[8] collective-permute(x), channel_id=3, source_target_pairs={{0,1},{1,0}}
  h = f32[8] collective-broadcast(x), replica_groups={{0,1}}
  o = f32[8] collective-reduce(x), replica_groups={{0,1}}, to_apply=added
  i = f32[8] all-reduce(x), channel_id=7, replica_groups=mesh['a'=2,'b'=4] {'a'}, use_global_device_ids=true, to_apply=added
  j = (f32[8],f32[8]) collective-permute-start(x), source_target_pairs={{0,1}}
  k = f32[8] collective-permute-done(j)
  l = f32[8] all-reduce-start(x), to_apply=added
  ROOT m = f32[8] all-reduce-done(l)
"""),
    "a convolution": _wrap(r"""
  x = f32[2,9,8,8] parameter(0)
  w = f32[3,2,2,16] parameter(1)
  ROOT c = f32[2,4,7,16] convolution(x,w), window={size=3x2 stride=2x1 pad=1_1x0_0 lhs_dilate=1x1 rhs_dilate=1x2 rhs_reversal=1x1}, dim_labels=b01f_01io->b01f, feature_group_count=4, operand_precision={high,highest}
"""),
    "opcodes with attributes of their own": _wrap(r"""
  x = f32[8,8] parameter(0)
  i = f32[] constant(0)
  a = f32[4,4] reduce-window(x,i), window={size=2x2 stride=2x2}, to_apply=added
  p = f32[10,9] pad(x,i), padding=1_1x0_1
  q = f32[17,8] pad(x,i), padding=1_1_1x0_0_0
  s = f32[4,8] slice(x), slice={[0:8:2],[0:8]}
  t = f32[4,8] slice(x), slice={[4:8],[0:8]}
  z = s32[] constant(0)
  ds = f32[2,2] dynamic-slice(x,z,z), dynamic_slice_sizes={2,2}
  du = f32[8,8] dynamic-update-slice(x,ds,z,z)
  b = f32[8,8,2] broadcast(x), dimensions={0,1}
  tr = f32[8,8] transpose(x), dimensions={1,0}
  rv = f32[8,8] reverse(x), dimensions={0}
  cc = f32[16,8] concatenate(x,x), dimensions={0}
  r = f32[8] reduce(x,i), dimensions={1}, to_apply=added
  rp = f32[8,8] reduce-precision(x), exponent_bits=5, mantissa_bits=10
  io = s32[8] iota(), iota_dimension=0
  d = f32[8,8] dot(x,x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,default}, algorithm=dot_tf32_tf32_f32
  d2 = f32[8] dot(x,x), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={1}
  gd = s32[] get-dimension-size(x), dimensions={0}
  sd = f32[<=8,8] set-dimension-size(x,gd), dimensions={0}
  bn = (f32[8,8],f32[8],f32[8]) batch-norm-training(x,r,r), epsilon=0.001, feature_index=1
  ch = f32[8,8] cholesky(x), lower=true
  ts = f32[8,8] triangular-solve(x,x), left_side=true, lower=true, transpose_a=NO_TRANSPOSE, unit_diagonal=true
  cp = c64[8,8] convert(x)
  ft = c64[8,8] fft(cp), fft_type=FFT, fft_length={8}
  rf = c64[8,5] fft(x), fft_type=RFFT, fft_length={8}
  rg = f32[8] rng(i,i), distribution=rng_uniform
  k = u64[2] constant({1,2})
  rb = (u64[2],u32[8]) rng-bit-generator(k), algorithm=rng_three_fry
  rs = u64[2] rng-get-and-update-state(), delta=4
  tk = (f32[8,2],s32[8,2]) topk(x), k=2, largest=true
  af = token[] after-all()
  ifd = ((f32[3],pred[]),token[]) infeed(af), infeed_config="a\"b"
  of = token[] outfeed(x,af), outfeed_config="zz", outfeed_shape=f32[8,8]{1,0}
  sn = (f32[8,8],u32[],token[]) send(x,af), channel_id=15, is_host_transfer=true
  sdn = token[] send-done(sn), channel_id=15, is_host_transfer=true
  rc = (f32[8],u32[],token[]) recv(af), channel_id=16
  rd = (f32[8],token[]) recv-done(rc), channel_id=16
  cs = (f32[8,8],f32[8,8],u32[]) copy-start(x), cross_program_prefetch_index=0
  cd = f32[8,8] copy-done(cs)
  ad = f32[8,8] add-dependency(x,af)
  ROOT rsh = f32[64] reshape(x)
"""),
    "gather and scatter": _wrap(r"""
  x = f32[8,8] parameter(0)
  i = s32[4,1] parameter(1)
  g = f32[4,8] gather(x,i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}, indices_are_sorted=true
  u = f32[4,8] copy(g)
  s = f32[8,8] scatter(x,i,u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=added
  gb = f32[8,3] parameter(2)
  ROOT so = (f32[8,8],f32[8,8]) tuple(s,x)
"""),
    "custom calls": _wrap(r"""
  x = f32[8,8] parameter(0)
  c = f32[8,8] custom-call(x), custom_call_target="foo", window={size=2x2}, dim_labels=b0f_0io->b0f, feature_group_count=2, batch_group_count=3, operand_precision={high}, padding_type=PADDING_SAME, custom_call_has_side_effect=true, api_version=API_VERSION_TYPED_FFI, backend_config={"b":1, "a":[1,2]}
  d = f32[8,8] custom-call(x), custom_call_target="foo\"x", operand_layout_constraints={f32[8,8]{1,0}}, output_to_operand_aliasing={{}: (0, {})}, schedule=SCHEDULE_LATEST, backend_config="abc'd\n"
  f = f32[8,8] custom-call(x), custom_call_target="a", called_computations={added}
  g = f32[8,8] custom-call(x), custom_call_target="b", literal=s32[2]{0} {1,2}
  h = f32[8,8] custom-call(x), custom_call_target="b", api_version=API_VERSION_STATUS_RETURNING_UNIFIED, frontend_attributes={a="b",c={"x":1},d="q\"t"}
  w = f32[8,8] custom-call(x), custom_call_target="w", window={}
  ROOT t = (f32[8,8],f32[8,8]) tuple(c,d)
"""),
    "metadata": _wrap(r"""
  x = f32[8,8] parameter(0), metadata={op_type="t" op_name="a/b" source_file="f.py" source_line=3 source_end_line=4 source_column=5 source_end_column=6}
  y = f32[8,8] exponential(x), metadata={op_name="é\"q" profile_type={1} deduplicated_name="dd"}, control-predecessors={x}
  z = f32[8,8] exponential(x), metadata={scheduling_name="s" stack_frame_id=0}, statistics={visualizing_index=0,count=1.5,b=2}
  w = f32[8,8] exponential(x), result_accuracy={tolerance={atol=0.1,rtol=0,ulps=3}}
  v = f32[8,8] exponential(x), result_accuracy={mode=highest}
  ROOT u = f32[8,8] exponential(x), origin={{"abc" {1}}}
"""),
    "origins": _wrap(r"""
  x = f32[8,8] parameter(0), origin={{"abc" {1}}}
  y = f32[8,8] exponential(x), origin={{"abc"}}
  z = (f32[8,8],(f32[8,8],f32[8,8])) parameter(1), origin={({"a" {0}}, ({"b"}, {"c" {1,2}}))}
  w = (f32[8,8],(f32[8,8],f32[8,8])) parameter(2), origin={({"a" {0}}, ({}, {"c"}))}
  v = f32[8,8] exponential(x), origin={{}}
  ROOT u = f32[8,8] exponential(x), origin={[synthetic_call]}
"""),
    "what the module says of itself": r"""HloModule foo, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, must-alias) }, buffer_donor={ (1, {}), (0,{}) }, frontend_attributes={xla="y"}
ENTRY e {
  a = f32[2] parameter(0)
  b = f32[2] parameter(1)
  ROOT t = (f32[2],f32[2]) tuple(a,b)
}
""",
    "called computations": r"""HloModule foo
body {
  p = (s32[],f32[8]) parameter(0)
  ROOT r = (s32[],f32[8]) copy(p)
}
cond {
  p = (s32[],f32[8]) parameter(0)
  ROOT c = pred[] constant(true)
}
t0 {
  p = f32[8] parameter(0)
  ROOT r = f32[8] negate(p)
}
t1 {
  p = f32[8] parameter(0)
  ROOT r = f32[8] negate(p)
}
t2 {
  p = f32[8] parameter(0)
  ROOT r = f32[8] abs(p)
}
sel {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a,b), direction=GE
}
ad {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a,b)
}
fu {
  a = f32[8] parameter(0)
  ROOT b = f32[8] negate(a)
}
ENTRY e {
  i = (s32[],f32[8]) parameter(0)
  w = (s32[],f32[8]) while(i), condition=cond, body=body, backend_config={"known_trip_count":{"n":"3"}}
  x = f32[8] get-tuple-element(w), index=1
  p = pred[] constant(false)
  z = s32[] constant(1)
  c = f32[8] conditional(p,x,x), true_computation=t1, false_computation=t2
  d = f32[8] conditional(z,x,x), branch_computations={t1,t2}
  f = f32[8] fusion(x), kind=kLoop, calls=fu, output_to_operand_aliasing={{}: (0, {})}
  g = f32[8] call(x), to_apply=t1
  h = f32[8] map(x), dimensions={0}, to_apply=t1
  zero = f32[] constant(0)
  ss = f32[8] select-and-scatter(x,x,zero), window={size=1}, select=sel, scatter=ad
  so = f32[8] sort(x), dimensions={0}, is_stable=true, to_apply=sel
  ob = (f32[8],f32[8]) opt-barrier(i)
  as = ((f32[8]),f32[8],s32[]) async-start(x), calls=t0, async_execution_thread="host"
  au = ((f32[8]),f32[8],s32[]) async-update(as)
  adn = f32[8] async-done(au)
  ROOT r = f32[8] add(adn,so)
}
""",
    "a ragged product": _wrap(r"""
  x = f32[8,8] parameter(0)
  y = f32[4,8,8] parameter(1)
  gs = s64[4] parameter(2)
  ROOT r = f32[8,8] ragged-dot(x,y,gs), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
"""),
    "opcodes that few programs have": _wrap(r"""
  x = f32[8] parameter(0)
  n = s32[] constant(4)
  a = f32[8] exp2(x)
  b = f32[8] log2(a)
  c = f32[8] shuffle(x), dimensions={0}, mode=rotate, shifts={3}
  d = f32[] dot(x, x, x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}, block_scaling_config={lhs={scale_idx=2 zero_idx=3 strides=2x4 steps=4x1}}
  ROOT e = f32[<=8] dynamic-reshape(x, n)
"""),
    "a domain": _wrap(r"""
  x = f32[8] parameter(0)
  ROOT d = f32[8] domain(x), domain={kind="sharding", entry={maximal device=0}, exit={maximal device=1}}
"""),
    "a schedule": r"""HloModule s, is_scheduled=true
ENTRY e {
  x = f32[8] parameter(0)
  y = f32[8] negate(x)
  ROOT z = f32[8] abs(y), control-predecessors={x}
}
""",
    "layouts": _wrap(r"""
  t = token[] after-all()
  x = (f32[8]{0:T(128)S(1)}, s4[16]{0:E(4)}, f32[]{:T(256)}, token[], (), (f32[2,3]{0,1:T(2,128)(2,1)L(4)}, u8[2,<=4]{1,0:M(8)}), bf16[2]{0:T(*,8)S(3)}) parameter(0)
  y = f32[3,4]{1,0:T(8)SC(0:1,2)} parameter(1)
  ROOT g = f32[8]{0:T(128)S(1)} get-tuple-element(x), index=0
"""),
    "constants": _wrap(r"""
  a = f32[] constant(1e-5)
  b = f32[] constant(0.1234567)
  c = bf16[] constant(0.1)
  d = f16[] constant(3.14159)
  e = f64[] constant(0.333333333333333333)
  f = f8e4m3fn[] constant(0.1)
  g = f8e5m2[] constant(57344)
  h = f8e4m3b11fnuz[] constant(0.1)
  i = f8e5m2fnuz[] constant(0.3)
  j = f8e3m4[] constant(0.3)
  k = f8e8m0fnu[] constant(0.5)
  l = f4e2m1fn[] constant(3)
  m = f32[4] constant({nan, -nan, inf, -inf})
  n = pred[3] constant({1,0,1})
  o = s4[2,2]{0,1} constant({{1,-2},{3,4}})
  p = u2[5] constant({1,2,3,0,1})
  q = f32[1,2,1,2] constant({{{{1,2}},{{3,4}}}})
  r = f32[2,0] constant({{},{}})
  s = f32[0,2] constant({})
  t = c64[2] constant({(1,-2),(0.1,nan)})
  u = u64[] constant(18446744073709551615)
  v = s64[] constant(-9000000000)
  w = pred[] constant(true)
  x = s32[11] constant({1,2,3,4,5,6,7,8,9,10,11})
  y = f8e4m3fn[3] constant({448,-0.5,nan})
  ROOT z = s32[2,2]{0,1} constant({{1,2},{3,4}})
"""),
    "scans and convolutions": r"""HloModule written
scanned {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] add(a, b)
  ROOT d = (f32[], f32[]) tuple(c, c)
}
ENTRY entry {
  x = f32[8] parameter(0)
  s = f32[] constant(0)
  k = (f32[8], f32[]) scan(x, s), dimensions={0}, num_carries=1, is_reverse=true, is_associative=true, to_apply=scanned
  w = f32[10,3] parameter(1)
  v = f32[7,3] parameter(2)
  t = (f32[2], s32[2]) topk(x), k=2, largest=true, is_stable=true
  ROOT c = f32[10,7] convolution(w, v), dim_labels=bf_oi->bf, convolution_kind=fprop
}
""",
    "arrays of the program as given": r"""HloModule given, frontend_attributes={a="b"}, origin_recovery_table={
  {"x"} : {"y" {1}},
  "
    HloModule recovery
    ENTRY recovered {
      p = f32[4] parameter(0), frontend_attributes={of=\"x\"}
      ROOT q = f32[8] concatenate(p, p), dimensions={0}
    }
  "
  {"z"} : {"w"}
},
debug_attributes={
  {"x"}:({log_mode=default,callback_id=3},{partitioned=true}),
  {"z" {0}}:({op_id=2})
}
ENTRY entry {
  ROOT x = f32[8] parameter(0), origin={{"z"}}
}
""",
}
"""The texts of modules, by their subjects."""
