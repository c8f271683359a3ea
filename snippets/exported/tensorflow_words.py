"""A function of TensorFlow that averages the vectors of words and classifies the average."""

import tensorflow as tf

table = tf.Variable(tf.ones((5000, 128)), name="table")
weights = tf.Variable(tf.ones((128, 10)), name="weights")


@tf.function
def classify(words):
    vectors = tf.gather(table, words)
    average = tf.reduce_mean(vectors, axis=1)
    return tf.nn.softmax(tf.matmul(average, weights))


words = classify.get_concrete_function(tf.TensorSpec((64, 32), tf.int32, name="words"))
