module @jit_mlp_block attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x128xf32>, %arg1: tensor<128xf32>, %arg2: tensor<128xf32>, %arg3: tensor<128x512xf32>, %arg4: tensor<512xf32>, %arg5: tensor<512x128xf32>, %arg6: tensor<128xf32>) -> (tensor<64x128xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %cst_2 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst_3 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst_4) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %2 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<64x1xf32>
    %4 = call @_var(%arg0, %c) : (tensor<64x128xf32>, tensor<i32>) -> tensor<64x1xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x128xf32>
    %6 = stablehlo.subtract %arg0, %5 : tensor<64x128xf32>
    %7 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %8 = stablehlo.add %4, %7 : tensor<64x1xf32>
    %9 = stablehlo.rsqrt %8 : tensor<64x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x128xf32>
    %11 = stablehlo.multiply %6, %10 : tensor<64x128xf32>
    %12 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<128xf32>) -> tensor<1x128xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<1x128xf32>) -> tensor<64x128xf32>
    %14 = stablehlo.multiply %11, %13 : tensor<64x128xf32>
    %15 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<128xf32>) -> tensor<1x128xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<1x128xf32>) -> tensor<64x128xf32>
    %17 = stablehlo.add %14, %16 : tensor<64x128xf32>
    %18 = stablehlo.dot_general %17, %arg3, contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x512xf32>) -> tensor<64x512xf32>
    %19 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<512xf32>) -> tensor<1x512xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<1x512xf32>) -> tensor<64x512xf32>
    %21 = stablehlo.add %18, %20 : tensor<64x512xf32>
    %22 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<64x512xf32>
    %23 = stablehlo.multiply %21, %22 : tensor<64x512xf32>
    %24 = stablehlo.sqrt %cst_0 : tensor<f32>
    %25 = stablehlo.convert %24 : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [] : (tensor<f32>) -> tensor<64x512xf32>
    %27 = stablehlo.divide %21, %26 : tensor<64x512xf32>
    %28 = stablehlo.composite "chlo.erf" %27 {decomposition = @chlo.erf.impl, version = 1 : i32} : (tensor<64x512xf32>) -> tensor<64x512xf32>
    %29 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x512xf32>
    %30 = stablehlo.add %29, %28 : tensor<64x512xf32>
    %31 = stablehlo.multiply %23, %30 : tensor<64x512xf32>
    %32 = stablehlo.dot_general %31, %arg5, contracting_dims = [1] x [0] : (tensor<64x512xf32>, tensor<512x128xf32>) -> tensor<64x128xf32>
    %33 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<128xf32>) -> tensor<1x128xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1] : (tensor<1x128xf32>) -> tensor<64x128xf32>
    %35 = stablehlo.add %32, %34 : tensor<64x128xf32>
    %36 = stablehlo.add %arg0, %35 : tensor<64x128xf32>
    return %36 : tensor<64x128xf32>
  }
  func.func private @chlo.erf.impl(%arg0: tensor<64x512xf32>) -> tensor<64x512xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<64x512xf32>
    %cst_0 = stablehlo.constant dense<-1.000000e+00> : tensor<64x512xf32>
    %cst_1 = stablehlo.constant dense<-0.0142647391> : tensor<64x512xf32>
    %cst_2 = stablehlo.constant dense<-0.00737332925> : tensor<64x512xf32>
    %cst_3 = stablehlo.constant dense<-0.00168282702> : tensor<64x512xf32>
    %cst_4 = stablehlo.constant dense<-2.13374049E-4> : tensor<64x512xf32>
    %cst_5 = stablehlo.constant dense<-1.45660715E-5> : tensor<64x512xf32>
    %cst_6 = stablehlo.constant dense<-0.0160960332> : tensor<64x512xf32>
    %cst_7 = stablehlo.constant dense<-2.954600e-03> : tensor<64x512xf32>
    %cst_8 = stablehlo.constant dense<-7.34990637E-4> : tensor<64x512xf32>
    %cst_9 = stablehlo.constant dense<-5.69250624E-5> : tensor<64x512xf32>
    %cst_10 = stablehlo.constant dense<-2.10102394E-6> : tensor<64x512xf32>
    %cst_11 = stablehlo.constant dense<2.77068146E-8> : tensor<64x512xf32>
    %cst_12 = stablehlo.constant dense<-2.72614237E-10> : tensor<64x512xf32>
    %cst_13 = stablehlo.constant dense<-4.000000e+00> : tensor<64x512xf32>
    %cst_14 = stablehlo.constant dense<4.000000e+00> : tensor<64x512xf32>
    %0 = stablehlo.clamp %cst_13, %arg0, %cst_14 : tensor<64x512xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<64x512xf32>
    %2 = stablehlo.multiply %cst_12, %1 : tensor<64x512xf32>
    %3 = stablehlo.add %2, %cst_11 : tensor<64x512xf32>
    %4 = stablehlo.multiply %3, %1 : tensor<64x512xf32>
    %5 = stablehlo.add %4, %cst_10 : tensor<64x512xf32>
    %6 = stablehlo.multiply %5, %1 : tensor<64x512xf32>
    %7 = stablehlo.add %6, %cst_9 : tensor<64x512xf32>
    %8 = stablehlo.multiply %7, %1 : tensor<64x512xf32>
    %9 = stablehlo.add %8, %cst_8 : tensor<64x512xf32>
    %10 = stablehlo.multiply %9, %1 : tensor<64x512xf32>
    %11 = stablehlo.add %10, %cst_7 : tensor<64x512xf32>
    %12 = stablehlo.multiply %11, %1 : tensor<64x512xf32>
    %13 = stablehlo.add %12, %cst_6 : tensor<64x512xf32>
    %14 = stablehlo.multiply %cst_5, %1 : tensor<64x512xf32>
    %15 = stablehlo.add %14, %cst_4 : tensor<64x512xf32>
    %16 = stablehlo.multiply %15, %1 : tensor<64x512xf32>
    %17 = stablehlo.add %16, %cst_3 : tensor<64x512xf32>
    %18 = stablehlo.multiply %17, %1 : tensor<64x512xf32>
    %19 = stablehlo.add %18, %cst_2 : tensor<64x512xf32>
    %20 = stablehlo.multiply %19, %1 : tensor<64x512xf32>
    %21 = stablehlo.add %20, %cst_1 : tensor<64x512xf32>
    %22 = stablehlo.multiply %0, %13 : tensor<64x512xf32>
    %23 = stablehlo.divide %22, %21 : tensor<64x512xf32>
    %24 = stablehlo.clamp %cst_0, %23, %cst : tensor<64x512xf32>
    return %24 : tensor<64x512xf32>
  }
  func.func private @_var(%arg0: tensor<64x128xf32>, %arg1: tensor<i32>) -> tensor<64x1xf32> {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<64x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x128xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<64x128xf32>
    %6 = stablehlo.multiply %5, %5 : tensor<64x128xf32>
    %7 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %8 = stablehlo.subtract %cst_0, %7 : tensor<f32>
    %9 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %11 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %12 = stablehlo.divide %10, %11 : tensor<64x1xf32>
    %13 = stablehlo.compare GT, %8, %cst_1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %14 = call @_where(%13, %12, %cst) : (tensor<i1>, tensor<64x1xf32>, tensor<f32>) -> tensor<64x1xf32>
    return %14 : tensor<64x1xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<64x1xf32>, %arg2: tensor<f32>) -> tensor<64x1xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<64x1xf32>
    return %2 : tensor<64x1xf32>
  }
}
