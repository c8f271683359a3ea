"""HLO as people write it: small modules in every form that XLA's own parser takes, each with a name."""

MODULES = {
    "comments, indentation and breaks": """
  // What a note says does not count.
    HloModule /* here neither */ noted,
        is_scheduled=true

      ENTRY   main ( x: f32[ 2 , 3 ]{ 1 , 0 } )
          -> f32[2, 3] {
        x = f32[2, 3]{1, 0}   // a break, then the opcode
            parameter( 0 )
        ROOT double = f32[2,3] add(x ,  /*again*/ x) ,
            metadata={op_name="a, b" , source_line=3}
      }
""",
    "neither header nor ENTRY nor ROOT": """
first { a = f32[] parameter(0) }
second { b = f32[] parameter(0) c = f32[] negate(b) }
""",
    "a name with a colon, and names like words of the grammar": """
HloModule colon:
ENTRY %ROOT { %true = s32[] parameter(0) ROOT %f33 = s32[] negate(%true) }
""",
    "shapes that the operands tell": """
HloModule shapeless
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = add(a, b) }
ENTRY main {
  x = f32[4,6]{0,1} parameter(0)
  y = transpose(x), dimensions={1,0}
  z = dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  zero = f32[] constant(0)
  r = reduce(z, zero), dimensions={1}, to_apply=sum
  less = compare(r, r), direction=LT
  ROOT both = tuple(r, x)
}
""",
    "instructions as operands": """
ENTRY main {
  x = f32[8] parameter(0)
  ROOT y = f32[8] multiply(add(x, x), f32[8] sine(x))
}
""",
    "computations as attributes": """
HloModule inside
ENTRY main {
  i = s32[] constant(1)
  x = f32[8] parameter(0)
  f = f32[8] fusion(x), kind=kLoop, calls={ p = f32[8] parameter(0) ROOT n = f32[8] negate(p) }
  ROOT c = f32[8] conditional(i, f, x), branch_computations={
    { p = f32[8] parameter(0) },
    { p = f32[8] parameter(0) ROOT q = f32[8] sine(p) }
  }
}
""",
    "a configuration over several lines": """
HloModule configured
ENTRY main {
  x = f32[8] parameter(0)
  ROOT y = f32[8] custom-call(x), custom_call_target="twice", backend_config={
      "sizes": ["1", "2"],
      "text": "a } and a // b"
  }, frontend_attributes={kind="x", more={"deep": {"er": 1}}}
}
""",
    "one instruction alone": "y = f32[4] add(f32[4] %a, f32[4] b), sharding={replicated}",
    "one instruction without a name": "(f32[4], s32[]) tuple(f32[4], s32[])",
    "strings, literals and values of every kind": r"""
HloModule values, frontend_attributes={a='one "two"'}
ENTRY main {
  c = c64[2] constant({ (1, -2.5) , (inf, nan) })
  d = f32[2,2] constant({{1, 2}, // row
                         {-3e-2, 4}})
  e = bf16[4] constant({...})
  p = pred[] constant(true)
  l = f32[2] custom-call(d), custom_call_target='a\'b', literal=f32[2]{0} {1, 2}
  k = f32[2] custom-call(d), custom_call_target="k", literal=f32[] 0.1
  ROOT t = (c64[2], f32[2]) tuple(c, l), metadata={op_name='it is', source_file="a.py" source_line=3}
}
""",
    "windows, ranges and groups": """
HloModule ranges
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = add(a, b) }
ENTRY main {
  x = f32[1,8,8,3] parameter(0)
  k = f32[3,3,3,4] parameter(1)
  v = f32[1,8,8,4] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  s = f32[1,4,8,3] slice(x), slice={ [0:1] , [0 : 8 : 2], [0:8], [0:3] }
  g = f32[1,4,8,3] all-reduce(s), replica_groups={ {0, 1}, {2, 3} }, to_apply=sum, channel_id=1
  h = f32[1,4,8,3] all-reduce(g), replica_groups=[2,2]<=[2,2]T(1,0), to_apply=sum
  ROOT t = (f32[1,8,8,4], f32[1,4,8,3]) tuple(v, h)
}
""",
    "shardings": """
HloModule sharded, num_partitions=4
ENTRY main {
  a = f32[8,8] parameter(0), sharding={devices=[2, 2]<=[4]}
  b = f32[8,8] parameter(1), sharding={devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}
  c = f32[8,8] add(a, b), sharding={maximal device=1}
  ROOT t = (f32[8,8], f32[8,8]) tuple(a, c), sharding={ {replicated}, {manual} }
}
""",
    "sugar for what runs beside": """
HloModule aside
ENTRY main {
  x = f32[8] parameter(0)
  s = ((f32[8]), f32[2], s32[]) slice-start(x), slice={[0:2]}
  ROOT d = f32[2] slice-done(s)
}
""",
    "dynamic sizes, tiles and nested tuples": """
HloModule sizes
ENTRY main {
  a = f32[<=16, 4]{1,0:T(8,128)S(1)} parameter(0)
  b = ((f32[2], (s32[], token[])), pred[]) parameter(1)
  ROOT e = (f32[2], (s32[], token[])) get-tuple-element(b), index=0
}
""",
    "elements picked where they are used": """
HloModule picked
ENTRY main {
  t = (f32[2], (f32[2], s32[])) parameter(0)
  ROOT s = f32[2] add(t#0, f32[2] %t#1#0)
}
""",
    "tables of stack frames on few lines": """
HloModule framed
FileNames 1 "a.py" 2 "b.py"
FunctionNames 1 "f"
FileLocations 1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=4 end_column=9}
  2 {file_name_id=2, function_name_id=1, line=5, end_line=5, column=0, end_column=2}
StackFrames 1 {file_location_id=1 parent_frame_id=1} 2 {file_location_id=2 parent_frame_id=2}
ENTRY main { ROOT x = f32[] parameter(0), metadata={stack_frame_id=2} }
""",
}
